"""Compares the expected values of experiments with values of textbook code. See `.ci/expected-values`."""
import sys
import tomllib
from pathlib import Path

import expected_classic
import expected_datasets


def main():
    experiments = {
        "bundled": expected_datasets.bundled,
        "cisi": lambda: expected_classic.classic(expected_classic.cisi()),
        "cranfield": lambda: expected_classic.classic(expected_classic.cranfield()),
        "datafinder-bundled": expected_datasets.bundled_table,
        "datafinder-concealed-fields": expected_datasets.concealed_fields,
        "datafinder-encoders": expected_datasets.encoder,
        "datafinder-representations": expected_datasets.representations,
    }
    failed = 0
    for name in sys.argv[1:] or [name for name in experiments if name != "datafinder-encoders"]:
        with open(Path("experiments") / f"{name}.toml", "rb") as file:
            experiment = tomllib.load(file)
        computed = experiments[name]()
        count = 0
        for row in experiment["expected"]:
            for measure, expected in row["values"].items():
                key = (row.get("task", ""), row["system"], measure)
                if key not in computed:
                    continue
                count += 1
                value = computed[key] * row.get("scale", 1)
                if abs(value - expected) > row["tolerance"] + 1e-12:
                    failed += 1
                    print(f"{name}: {' | '.join(key)}: expected {expected}, found {value:.5f}")
        print(f"{name}: {count} values")
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
