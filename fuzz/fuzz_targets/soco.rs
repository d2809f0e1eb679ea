//! SOCO's records: what is read is written and read again as the same.
#![no_main]

use ir_qa::soco::{SocoDocument, SocoError, SocoReader, write_records};
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8]) -> Result<Vec<SocoDocument>, SocoError> {
    SocoReader::new(bytes, "fuzz").collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(records) = read(bytes) else {
        return;
    };
    let mut written = Vec::new();
    write_records(&records, &mut written).expect("written to memory");
    assert_eq!(read(&written).expect("written records"), records);
});
