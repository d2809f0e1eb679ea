"""Writes ir_measures_names.tsv: texts that ir_measures reads, and how it prints them.

pip install ir_measures==0.4.3, then run in this folder. Every measure of its registry is there under each of its names,
with each of its parameters, with and without a cut-off.
"""
import ir_measures

values = {
    "rel": ["2"], "judged_only": ["True"], "dcg": ["'log2'", "'exp-log2'"], "gains": ["{1:3,2:9}"],
    "alpha": ["0.3", "0.5"], "beta": ["0.25", "1.0"], "p": ["0.95", "0.8"], "relative": ["True"],
    "T": ["2.0"], "min_rel": ["1"], "max_rel": ["3"], "normalize": ["False"],
}
rows = {}
for name, measure in sorted(ir_measures.measures.registry.items()):
    at = measure.AT_PARAM
    known = {key: info for key, info in measure.SUPPORTED_PARAMS.items() if key != at}
    needed = [f"{key}={values[key][0]}" for key, info in known.items() if info.required]
    lists = [needed]
    for key, info in known.items():
        for value in values[key]:
            if not info.required:
                lists.append(needed + [f"{key}={value}"])
    both = [f"{key}={values[key][0]}" for key in known if key in ("rel", "judged_only")]
    if len(both) == 2:
        lists.append(needed + both)
    ends = [""]
    if at in measure.SUPPORTED_PARAMS:
        end = "@0.1" if at == "recall" else "@10"
        ends = [end] if measure.SUPPORTED_PARAMS[at].required else ["", end]
    for parameters in lists:
        for end in ends:
            text = name + (f"({','.join(parameters)})" if parameters else "") + end
            parsed = ir_measures.parse_measure(text)
            try:
                parsed.validate_params()
            except AssertionError:  # SDCG has one discount only
                continue
            rows[text] = repr(parsed)
with open("ir_measures_names.tsv", "w") as out:
    for text, printed in rows.items():
        print(text, printed, sep="\t", file=out)
