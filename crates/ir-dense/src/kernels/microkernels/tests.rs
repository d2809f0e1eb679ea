//! Tiles of every instruction set against scalar sums.

use proptest::prelude::*;

use super::*;

/// Names and functions for 8-bit integers that this CPU has, without [`int8_portable`].
fn int8_functions() -> Vec<(&'static str, Microkernel)> {
    let mut all: Vec<(&str, Microkernel)> = vec![("selected", int8_microkernel())];
    #[cfg(target_arch = "x86_64")]
    {
        let x86: [(&str, bool, Microkernel); 3] = [
            ("avx512-vnni", x86::has_avx512_vnni(), x86::int8_avx512_vnni),
            ("avx-vnni", x86::has_avx_vnni(), x86::int8_avx_vnni),
            ("avx2", x86::has_avx2(), x86::int8_avx2),
        ];
        let found = x86.into_iter().filter(|(_, is_found, _)| *is_found);
        all.extend(found.map(|(name, _, function)| (name, function)));
    }
    all
}

/// Sums of a portable function at every level of the CPU.
macro_rules! at_every_level {
    ($function:ident, $operands:expr) => {{
        let operands = &$operands;
        let [mut scalar, mut best] = [MicroTile::default(), MicroTile::default()];
        let sums = &mut scalar;
        $function { operands, sums }.with_simd(pulp::Scalar);
        let sums = &mut best;
        Arch::new().dispatch($function { operands, sums });
        #[allow(unused_mut, reason = "other architectures have fewer levels")]
        let mut all = vec![scalar, best];
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let mut found = MicroTile::default();
            let sums = &mut found;
            Simd::vectorize(simd, $function { operands, sums });
            all.push(found);
        }
        all
    }};
}

struct Operands {
    left: Vec<u32>,
    left_stride: usize,
    rows: usize,
    panel: Vec<[u32; PANEL_COLUMNS]>,
}

impl Operands {
    fn new(rows: usize, depth: usize, gap: usize, mut word: impl FnMut() -> u32) -> Self {
        let left_stride = depth + gap;
        Self {
            left: (0..rows * left_stride).map(|_| word()).collect(),
            left_stride,
            rows,
            panel: (0..depth)
                .map(|_| std::array::from_fn(|_| word()))
                .collect(),
        }
    }

    fn operands(&self) -> MicrokernelOperands<'_> {
        MicrokernelOperands {
            left: &self.left,
            left_stride: self.left_stride,
            k_stride: 1,
            rows: self.rows,
            panel: &self.panel,
        }
    }

    /// Folds the pairs of words of every row and column, in order.
    fn fold<T>(&self, start: impl Fn() -> T, f: impl Fn(T, u32, u32) -> T) -> Vec<Vec<T>> {
        let rows = self.left.chunks(self.left_stride);
        let cell = |row: &[u32], column: usize| {
            let pairs = row.iter().zip(&self.panel);
            pairs.fold(start(), |sum, (&x, panel)| f(sum, x, panel[column]))
        };
        let row = |row| (0..PANEL_COLUMNS).map(|column| cell(row, column)).collect();
        rows.map(row).collect()
    }
}

fn int8_products(operands: &Operands) {
    let expected = operands.fold(
        || 0_i64,
        |sum, x, y| {
            let bytes = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
            sum + bytes
                .map(|(x, y)| i64::from(x) * i64::from(y as i8))
                .sum::<i64>()
        },
    );
    let check = |name: &str, sums: &MicroTile| {
        for (row, (sums, expected)) in sums.0.iter().zip(&expected).enumerate() {
            let found: Vec<i64> = sums.iter().map(|&sum| i64::from(sum as i32)).collect();
            assert_eq!(&found, expected, "{name}, row {row}");
        }
    };
    for (level, sums) in at_every_level!(PortableInt8, operands.operands())
        .iter()
        .enumerate()
    {
        check(&format!("portable {level}"), sums);
    }
    for (name, function) in int8_functions() {
        let mut sums = MicroTile::default();
        function(&operands.operands(), &mut sums);
        check(name, &sums);
    }
}

#[test]
fn largest_8_bit_products_do_not_overflow() {
    for y in [0x7f7f_7f7f, 0x8181_8181] {
        let words = std::cell::Cell::new(0);
        let depth = MAX_DEPTH / 4;
        let operands = Operands::new(1, depth, 0, || {
            words.set(words.get() + 1);
            if words.get() <= depth { u32::MAX } else { y }
        });
        int8_products(&operands);
    }
}

/// Word of two bf16 numbers with exponents from -8 to 7.
fn bf16_word(bits: u64) -> u32 {
    let number = |bits: u32| (bits & 0x807f) | (119 + (bits >> 8 & 15)) << 7;
    number(bits as u32) | number((bits >> 32) as u32) << 16
}

fn bf16_products(operands: &Operands) {
    let halves = |word: u32| {
        let second = f32::from_bits(word >> 16 << 16);
        [f32::from_bits(word << 16), second]
    };
    let expected = operands.fold(
        || 0_f32,
        |sum, x, y| {
            let ([x, x2], [y, y2]) = (halves(x), halves(y));
            (sum + x2 * y2) + x * y
        },
    );
    let exact = operands.fold(
        || [0_f64; 2],
        |[sum, magnitude], x, y| {
            let products = halves(x).into_iter().zip(halves(y));
            let products = products.map(|(x, y)| f64::from(x) * f64::from(y));
            let product: f64 = products.clone().sum();
            [
                sum + product,
                magnitude + products.map(f64::abs).sum::<f64>(),
            ]
        },
    );
    let mut all = at_every_level!(PortableBf16, operands.operands());
    let depth = operands.panel.len();
    let words = (0..depth * TILE_ROWS).map(|at| {
        let (k, row) = (at / TILE_ROWS, at % TILE_ROWS);
        let row = operands.left.get(row * operands.left_stride..);
        row.map_or(0, |row| row.get(k).copied().unwrap_or_default())
    });
    let columns: Vec<u32> = words.collect();
    let by_columns = MicrokernelOperands {
        left: &columns,
        left_stride: 1,
        k_stride: TILE_ROWS,
        ..operands.operands()
    };
    all.extend(at_every_level!(PortableBf16, by_columns));
    #[allow(unused_mut, reason = "other architectures have one function")]
    let mut functions = vec![bf16_microkernel()];
    #[cfg(target_arch = "x86_64")]
    if x86::has_avx512_bf16() && same_bits_of_probes(x86::bf16_avx512) {
        functions.push(x86::bf16_avx512);
    }
    for function in functions {
        for operands in [operands.operands(), by_columns] {
            let mut sums = MicroTile::default();
            function(&operands, &mut sums);
            all.push(sums);
        }
    }
    for sums in &all {
        for ((sums, expected), exact) in sums.0.iter().zip(&expected).zip(&exact) {
            for ((&bits, expected), [exact, magnitude]) in sums.iter().zip(expected).zip(exact) {
                assert_eq!(bits, expected.to_bits());
                let error = (f64::from(f32::from_bits(bits)) - exact).abs();
                assert!(error <= 1e-5 * magnitude, "{error} of {magnitude}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn tiles_of_all_instruction_sets_equal_scalar_sums(
        rows in 1..=TILE_ROWS,
        depth in 1..80_usize,
        gap in 0..20_usize,
        seed: u64,
    ) {
        let mut random = ir_core::SplitMix64::new(seed, 1);
        int8_products(&Operands::new(rows, depth, gap, || {
            // -128 is not a quantized weight, but a valid 8-bit integer.
            random.next_u64() as u32
        }));
        bf16_products(&Operands::new(rows, depth, gap, || {
            bf16_word(random.next_u64())
        }));
    }
}

#[test]
fn probes_tell_other_orders_apart() {
    let reversed: Microkernel = |operands, sums| {
        let swap = |words: &[u32]| words.iter().map(|word| word.rotate_left(16)).collect();
        let left: Vec<u32> = swap(operands.left);
        let panel: Vec<u32> = swap(operands.panel.as_flattened());
        let (panel, _) = panel.as_chunks();
        let left = &left;
        bf16_portable(
            &MicrokernelOperands {
                left,
                panel,
                ..*operands
            },
            sums,
        );
    };
    assert!(!same_bits_of_probes(reversed));
    let pairs_first: Microkernel = |operands, sums| {
        for (row, out) in sums.0.iter_mut().enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                let mut sum = 0_f32;
                for (&x, panel) in operands.row(row).iter().zip(operands.panel) {
                    let y = panel[column];
                    let product = |shift: u32| {
                        let half = |word: u32| f32::from_bits(word << shift >> 16 << 16);
                        half(x) * half(y)
                    };
                    sum += product(0) + product(16);
                }
                *out = sum.to_bits();
            }
        }
    };
    assert!(!same_bits_of_probes(pairs_first));
    assert!(same_bits_of_probes(bf16_portable));
}

#[test]
fn bf16_is_nearest_even() {
    let value = |x: f32| f32::from_bits(round_to_bf16(x) << 16);
    let cases = [
        (1.0, 1.0),
        (-0.0, 0.0),
        // Between 1 and 1 + 2⁻⁷, and its neighbor with an odd last bit.
        (1.0 + 1.0 / 256.0, 1.0),
        (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
        (1.0 + 1.01 / 256.0, 1.0 + 2.0 / 256.0),
        (-1.0 - 3.0 / 256.0, -1.0 - 4.0 / 256.0),
        (LEAST_BF16, LEAST_BF16),
        (8e-16, 0.0),
        (f32::MIN_POSITIVE, 0.0),
        (f32::MAX, f32::INFINITY),
        (f32::NEG_INFINITY, f32::NEG_INFINITY),
    ];
    for (x, expected) in cases {
        assert_eq!(value(x), expected, "{x}");
    }
    assert!(value(f32::NAN).is_nan());
    assert!(value(f32::from_bits(0x7fff_ffff)).is_nan());
    // All bf16 numbers of normal magnitude are their own nearest.
    for bits in 0..=u32::from(u16::MAX) {
        let x = f32::from_bits(bits << 16);
        if x.abs() >= LEAST_BF16 {
            assert_eq!(round_to_bf16(x), bits);
        }
    }
}
