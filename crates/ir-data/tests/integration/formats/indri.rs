//! Topics in Indri parameter files.

use ir_data::{DataError, indri};

#[test]
fn indri_topics() {
    let read = |text: &str| indri::read_queries(text.as_bytes(), "f");
    let text = "\n<parameters>\n<query><text>\n#or( a\nb )\n</text>\n<number>7</number></query>\n\
                <query>\n<number>8</number><text>x &lt; y &unknown; &</text></query>\n</parameters>\n";
    let queries = read(text).unwrap();
    assert_eq!(
        (queries[0].id.as_str(), queries[0].text.as_str()),
        ("7", "#or( a\nb )")
    );
    assert_eq!(queries[1].text, "x < y &unknown; &");
    assert!(read("<parameters></parameters>").unwrap().is_empty());
    let table = r#" => f:1: expected <parameters>, found "the end of the file"
<parameters>\n<query>\n<title> => f:3: expected <number>, <text> or </query>, found "<title>"
<parameters>\n<query><text>a</text></query> => f:2: expected a field "number", found none
<parameters>\n<query><number>1</number></query> => f:2: expected a field "text", found none
<parameters>\n<query><number>1</query> => f:2: expected </number>, found "1</query>"
<parameters></parameters>\nmore => f:2: expected the end after </parameters>, found "more""#;
    super::assert_cases(table, |text| read(text).unwrap_err().to_string());
    let prolog = "<?xml version='1.0'?>\n<!-- tea -->\n<parameters>\n<!-- one -->\n";
    let topic = "<query><number>1</number><text>tea</text></query>\n</parameters>";
    assert_eq!(read(&format!("{prolog}{topic}")).unwrap()[0].text, "tea");
    let error = read(&format!("{prolog}<title>")).unwrap_err().to_string();
    assert_eq!(error, "f:5: expected <query>, found \"<title>\"");
    let one = "<query><number>1</number><text>a</text></query>";
    let error = read(&format!("<parameters>{one}\n{one}</parameters>")).unwrap_err();
    assert!(matches!(
        error,
        DataError::RepeatedId {
            line: 2,
            first: 1,
            ..
        }
    ));
}
