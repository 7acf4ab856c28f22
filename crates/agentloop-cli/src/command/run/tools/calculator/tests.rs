use super::parse::{MAX_DEPTH, MAX_LENGTH, evaluate};

fn calculate(expression: &str) -> String {
    evaluate(expression).map_or_else(|why| format!("error: {why}"), |number| number.to_string())
}

#[test]
fn expressions_are_evaluated() {
    for (expression, expected) in [
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
        assert_eq!(calculate(expression), expected, "{expression}");
    }
}

#[test]
fn the_error_states_why_an_expression_is_invalid() {
    for (expression, words) in [
        ("", "unexpected end"),
        ("1 +", "unexpected end"),
        ("(1", "closing parenthesis"),
        ("1)", "unexpected input at `)`"),
        ("1 2", "unexpected input at `2`"),
        ("1 / 0", "division by zero"),
        ("1 % 0.0", "division by zero"),
        ("sqrt(-1)", "not a real number"),
        ("10 ^ 1000", "too large"),
        ("1e999", "too large"),
        ("system(1)", "unknown function `system`"),
        ("answer", "unknown name `answer`"),
        ("sqrt(1, 2)", "with 2 arguments"),
        ("1.2.3", "unexpected input"),
        (".", "not a number"),
        ("ä", "unexpected input"),
    ] {
        let result = calculate(expression);
        assert!(result.starts_with("error: ") && result.contains(words), "{expression}: {result}");
    }
}

#[test]
fn length_and_depth_are_limited() {
    for deep in [
        format!("{}1{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH)),
        format!("{}1", "-".repeat(MAX_LENGTH - 1)),
        format!("1{}", "^1".repeat(MAX_LENGTH / 2 - 1)),
    ] {
        assert!(calculate(&deep).contains("nested deeper"), "{deep}");
    }
    assert!(calculate(&"1".repeat(MAX_LENGTH + 1)).contains("longer than"));
    assert_eq!(calculate(&format!("0{}", "+1".repeat(400))), "400");
}
