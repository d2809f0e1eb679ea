use super::*;

/// Pseudorandom numbers of many magnitudes.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_769).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count)
        .map(|_| (next() as f32 / 8_388_608.0 - 1.0) * 2.0_f32.powi((next() % 20) as i32 - 10))
        .collect()
}

#[test]
fn all_levels_return_the_same_bits() {
    let all = Cpu::all();
    for dim in [1, 2, 7, 8, 15, 16, 31, 32, 33, 64, 100, 384, 1000] {
        let row = numbers(dim as u32, dim);
        let query: Vec<f64> = numbers(77 + dim as u32, dim)
            .into_iter()
            .map(f64::from)
            .collect();
        let plain: f64 = query.iter().zip(&row).map(|(q, &x)| q * f64::from(x)).sum();
        let size: f64 = query
            .iter()
            .zip(&row)
            .map(|(q, &x)| (q * f64::from(x)).abs())
            .sum();
        let (dot, both, distance) = (
            all[0].dot(&query, &row),
            all[0].dot_and_squared_norm(&query, &row),
            all[0].squared_distance(&query, &row),
        );
        assert!((dot - plain).abs() <= 1e-14 * size);
        assert_eq!(both.0.to_bits(), dot.to_bits());
        let mut codes = vec![0; dim];
        let quantized = all[0].quantize(&row, &mut codes);
        for &cpu in &all[1..] {
            assert_eq!(cpu.dot(&query, &row).to_bits(), dot.to_bits(), "{cpu:?}");
            assert_eq!(cpu.dot_and_squared_norm(&query, &row), both, "{cpu:?}");
            assert_eq!(
                cpu.squared_distance(&query, &row).to_bits(),
                distance.to_bits()
            );
            let mut others = vec![0; dim];
            assert_eq!(cpu.quantize(&row, &mut others), quantized, "{cpu:?}");
            assert_eq!(others, codes, "{cpu:?}");
        }
    }
}

/// Products of a lane block equal the naive loop bit for bit, for every number of rows.
#[test]
fn products_equal_the_naive_loop() {
    for dim in [1, 2, 7, 16, 33, 96, 128] {
        for count in [0, 1, 3, 7, 8, 9, 17, 40] {
            let rows = numbers(count as u32, count * dim);
            let lanes = numbers(99, dim * PRODUCT_LANES);
            let (lanes, _) = lanes.as_chunks::<PRODUCT_LANES>();
            for cpu in Cpu::all() {
                let mut found = vec![[f32::NAN; PRODUCT_LANES]; count];
                cpu.products(lanes, &rows, &mut found);
                for (row, found) in rows.chunks_exact(dim).zip(found) {
                    for (lane, found) in found.into_iter().enumerate() {
                        let pairs = row.iter().zip(lanes);
                        let sum = pairs.fold(0.0_f32, |sum, (x, q)| x.mul_add(q[lane], sum));
                        assert_eq!(found.to_bits(), sum.to_bits(), "{cpu:?} {dim} {count}");
                    }
                }
            }
        }
    }
}

#[test]
fn dot_records_is_exact() {
    for lines in [1, 2, 7] {
        let size = CACHE_LINE * lines;
        let records: Vec<u8> = (0..20 * size).map(|n| (n * 31 % 256) as u8).collect();
        let query: Vec<i8> = (0..size).map(|n| (n * 57 % 255) as u8 as i8).collect();
        let extremes = (vec![255; 3 * size], vec![-128; size]);
        for cpu in Cpu::all() {
            for count in 0..12 {
                let indices: Vec<u32> = (0..count).map(|n| n * 7 % 20).collect();
                let mut sums = vec![0; count as usize];
                cpu.dot_records(&records, &indices, &query, &mut sums);
                for (&index, &sum) in indices.iter().zip(&sums) {
                    let record = &records[index as usize * size..][..size];
                    let pairs = record.iter().zip(&query);
                    let expected: i32 = pairs.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
                    assert_eq!(sum, expected, "{cpu:?}");
                }
            }
            let mut sums = [0; 2];
            cpu.dot_records(&extremes.0, &[0, 2], &extremes.1, &mut sums);
            assert_eq!(sums, [-128 * 255 * size as i32; 2], "{cpu:?}");
        }
    }
}

/// With scales of 1 and no errors, the bound is the sum itself: a threshold between two integers
/// determines it exactly.
#[test]
fn sums_of_codes_are_exact() {
    let zeros = [0.0; TILE_ROWS];
    let ones = [1.0; TILE_ROWS];
    let stats = TileStats {
        scale: &ones,
        error: &zeros,
        norm: &zeros,
        bias: &zeros,
    };
    for dim in [4, 8, 36, 384] {
        for count in 1..=MAX_QUERIES {
            let code = |n: usize| match n % 11 {
                0 => 1,
                1 => 255,
                other => (other * n * 7 % 255 + 1) as u8,
            };
            let codes: Vec<u8> = (0..dim * TILE_ROWS).map(code).collect();
            let queries: Vec<i8> = (0..dim * count)
                .map(|n| match n % 5 {
                    0 => 127,
                    1 => -127,
                    _ => ((n * 31 % 255) as i16 - 127) as i8,
                })
                .collect();
            let sum = |query: usize, row: usize| -> i32 {
                (0..dim)
                    .map(|d| {
                        let code = codes[d / 4 * 4 * TILE_ROWS + 4 * row + d % 4];
                        let query = queries[d / 4 * 4 * count + 4 * query + d % 4];
                        (i32::from(code) - 128) * i32::from(query)
                    })
                    .sum()
            };
            for reference in [0, 17, 63] {
                let screened: Vec<ScreenQuery> = (0..count)
                    .map(|query| ScreenQuery {
                        initial_sum: -128
                            * (0..dim)
                                .map(|d| i32::from(queries[d / 4 * 4 * count + 4 * query + d % 4]))
                                .sum::<i32>(),
                        norm: 1.0,
                        error: 1.0,
                        bias: 1.0,
                        threshold: sum(query, reference) as f32 - 0.5,
                    })
                    .collect();
                for cpu in Cpu::all() {
                    let mut found = Screened::default();
                    cpu.screen(&codes, stats, &queries, &screened, &mut found);
                    let mut sums = [[0; TILE_ROWS]; MAX_QUERIES];
                    let initial_sums: Vec<i32> =
                        screened.iter().map(|query| query.initial_sum).collect();
                    cpu.dot_tile(&codes, &queries, &initial_sums, &mut sums);
                    for (query, (bits, sums)) in
                        found.passed.iter().zip(&sums).enumerate().take(count)
                    {
                        let bounds = sums.map(|sum| sum as f32);
                        assert_eq!(found.bounds[query], bounds, "{cpu:?} {query}");
                        for (row, &found) in sums.iter().enumerate() {
                            assert_eq!(found, sum(query, row), "{cpu:?} {query} {row}");
                            let above = found >= sum(query, reference);
                            assert_eq!(bits >> row & 1 == 1, above, "{cpu:?} {query} {row}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn nan_bounds_and_thresholds_pass() {
    let zeros = [0.0; TILE_ROWS];
    let mut errors = zeros;
    errors[5] = f32::INFINITY;
    errors[6] = f32::NAN;
    let stats = TileStats {
        scale: &zeros,
        error: &errors,
        norm: &zeros,
        bias: &zeros,
    };
    let query = |norm, threshold| ScreenQuery {
        initial_sum: 0,
        norm,
        error: 0.0,
        bias: 0.0,
        threshold,
    };
    for cpu in Cpu::all() {
        let mut found = Screened::default();
        let queries = [query(1.0, 9.0), query(0.0, 9.0), query(1.0, f32::NAN)];
        cpu.screen(&[128; 4 * TILE_ROWS], stats, &[0; 12], &queries, &mut found);
        assert_eq!(found.passed[..3], [3 << 5, 3 << 5, u64::MAX], "{cpu:?}");
    }
}
