use super::parse::{MAX_DEPTH, MAX_LENGTH, evaluate};

fn works_out(expression: &str) -> String {
    evaluate(expression).map_or_else(|why| format!("error: {why}"), |number| number.to_string())
}

#[test]
fn expressions_come_to_what_a_person_expects() {
    for (expression, wanted) in [
        ("2 * (3 + 4)", "14"),
        ("1 + 2 * 3 - 4 / 2", "5"),
        ("-2 ^ 2", "-4"),
        ("2 ^ 3 ^ 2", "512"),
        ("2 ** -1", "0.5"),
        ("7 % 3", "1"),
        ("0.1 + 0.2", "0.3"),
        ("1 / 3", "0.333333333333333"),
        ("6 / 3", "2"),
        ("2 ^ 100", "1267650600228229401496703205376"),
        ("123456789012345678 * 1000000007", "123456789876543201086419746"),
        ("10 ^ 40 / 10 ^ 20", "100000000000000000000"),
        ("1e300 * 10", "1e301"),
        ("1.5e-9", "1.5e-9"),
        ("2×3÷4", "1.5"),
        ("sqrt(16) + abs(-3)", "7"),
        ("round(2.5) + floor(-0.5) + ceil(0.2)", "3"),
        ("max(1, 2.5, 2) - min(4, 3)", "-0.5"),
        ("log10(1000)", "3"),
        ("sin(pi / 2) + ln(e)", "2"),
        ("sin(pi) * 0", "0"),
        (".5 + 1.", "1.5"),
    ] {
        assert_eq!(works_out(expression), wanted, "{expression}");
    }
}

#[test]
fn what_is_no_expression_is_told_in_words() {
    for (expression, words) in [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("(1", "not closed"),
        ("1)", "not expected"),
        ("1 2", "not expected"),
        ("1 / 0", "division by zero"),
        ("1 % 0.0", "division by zero"),
        ("sqrt(-1)", "no such number"),
        ("10 ^ 1000", "too large"),
        ("1e999", "too large"),
        ("system(1)", "not known"),
        ("answer", "not known"),
        ("sqrt(1, 2)", "of 2 numbers"),
        ("1.2.3", "not expected"),
        (".", "no number"),
        ("ä", "not expected"),
    ] {
        let told = works_out(expression);
        assert!(told.starts_with("error: ") && told.contains(words), "{expression}: {told}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    for deep in [
        format!("{}1{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH)),
        format!("{}1", "-".repeat(MAX_LENGTH - 1)),
        format!("1{}", "^1".repeat(MAX_LENGTH / 2 - 1)),
    ] {
        assert!(works_out(&deep).contains("nests deeper"), "{deep}");
    }
    assert!(works_out(&"1".repeat(MAX_LENGTH + 1)).contains("longer than"));
    assert_eq!(works_out(&format!("0{}", "+1".repeat(400))), "400");
}
