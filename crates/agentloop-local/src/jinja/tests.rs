use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn render(source: &str, messages: &[Json], tools: &[Json]) -> Result<String, String> {
    Template::compile(source)?.render(Input { messages, tools, bos: "<s>", eos: "</s>" })
}

fn shown(source: &str) -> String {
    let messages = [
        json!({"role": "system", "content": " Be brief. "}),
        json!({"role": "user", "content": "Hi"}),
    ];
    render(source, &messages, &[]).unwrap()
}

/// A template with the constructs of ChatML models: roles, the beginning of a response, and tools in the form of Hermes.
const HERMES: &str = r"{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {%- for tool in tools %}
        {{- '\n' ~ (tool | tojson) }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == 'user') or (message.role == 'system' and not loop.first) or (message.role == 'assistant' and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}{% set tool_call = tool_call.function %}{% endif %}
            {{- '\n<tool_call>\n{\x22name\x22: \x22' }}
            {{- tool_call.name }}
            {{- '\x22, \x22arguments\x22: ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\n<tool_response>\n' ~ message.content ~ '\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}";

/// A template without a system prompt, whose roles alternate.
const ALTERNATING: &str = "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
    {% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
    {{ raise_exception('Conversation roles must alternate') }}{% endif %}\
    {{ '<turn>' + message['role'] + '\n' + message['content'] | trim + '</turn>\n' }}{% endfor %}\
    {% if add_generation_prompt %}{{'<turn>model\n'}}{% endif %}";

#[test]
fn a_conversation_is_written_as_the_template_describes() {
    assert_eq!(
        shown(HERMES),
        "<|im_start|>system\n Be brief. <|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    );
    let messages = [json!({"role": "user", "content": " Hi "})];
    assert_eq!(
        render(ALTERNATING, &messages, &[]).unwrap(),
        "<s><turn>user\nHi</turn>\n<turn>model\n"
    );
}

#[test]
fn the_python_methods_of_templates_are_known() {
    for (template, expected) in [
        ("{{ messages[0].content.strip() }}", "Be brief."),
        ("{{ messages[0]['content'].split('b')[-1].strip() }}", "rief."),
        ("{{ messages[1].content.startswith('H') and 'x' in ['x'] }}", "True"),
        (
            "{% for key, value in messages[1].items() %}{{ key }}={{ value }};{% endfor %}",
            "role=user;content=Hi;",
        ),
        ("{{ messages[1].get('name', 'none') }}", "none"),
        (
            "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join }}",
            "Hi",
        ),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "2",
        ),
        (
            "{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
            "system",
        ),
        ("{{ messages[1:][0].content }}{{ messages[::-1][0].content }}", "HiHi"),
        ("{% macro f(x, y=2) %}{{ x + y }}{% endmacro %}{{ f(1) }}", "3"),
        ("{{ '%s-%s' | format('a', 1) }}{{ 'a' ~ none }}", "a-1aNone"),
        ("{{ messages[1].content is string }}{{ messages[1].x is defined }}", "TrueFalse"),
        ("{% generation %}x{% endgeneration %}", "x"),
        ("a\n{%- generation -%}\n x \n{%- endgeneration %}", "ax"),
        ("{{ tools is none }}{{ documents is none }}", "TrueTrue"),
        ("{%- if messages[0].content %}\n    a\n{%- endif %}\nb\n", "    ab"),
    ] {
        assert_eq!(shown(template), expected, "{template}");
    }
}

#[test]
fn json_is_written_as_python_does() {
    let value = "{'b': [1, 2.5, true, none], 'a': 'x<y>\u{e9}\"'}";
    let of = |options: &str| shown(&format!("{{{{ {value} | tojson{options} }}}}"));
    assert_eq!(of(""), "{\"b\": [1, 2.5, true, null], \"a\": \"x<y>\u{e9}\\\"\"}");
    assert_eq!(of("(ensure_ascii=true)"), r#"{"b": [1, 2.5, true, null], "a": "x<y>\u00e9\""}"#);
    assert_eq!(
        of("(sort_keys=true, separators=(',', ':'))"),
        "{\"a\":\"x<y>\u{e9}\\\"\",\"b\":[1,2.5,true,null]}"
    );
    assert!(of("(indent=4)").starts_with("{\n    \"b\": [\n        1,\n"));
    assert_eq!(
        shown(
            "{{ [] | tojson(indent=2) }}{{ {} | tojson }}{{ '\u{1f600}' | tojson(ensure_ascii=true) }}"
        ),
        r#"[]{}"\ud83d\ude00""#
    );
}

#[test]
fn dates_are_those_of_the_calendar() {
    let of = |format: &str, seconds: u64| date::write(format, seconds);
    assert_eq!(of("%d %b %Y", 1_722_000_000), "26 Jul 2024");
    assert_eq!(of("%Y-%m-%d %H:%M:%S %A", 951_782_399), "2000-02-28 23:59:59 Monday");
    assert_eq!(of("%F", 951_782_400), "2000-02-29");
    assert_eq!(of("%a %e %B %y %I%p %% %Q %", 0), "Thu  1 January 70 12AM % %Q %");
    assert_eq!(of("%F", 4_107_542_400), "2100-03-01");
    assert!(shown("{{ strftime_now('%Y') }}").parse::<u64>().unwrap() > 2_025);
}

#[test]
fn the_abilities_of_a_template_are_found_by_applying_it() {
    let of = |source: &str| Abilities::of(&Template::compile(source).unwrap(), "<s>", "</s>");
    assert_eq!(of(HERMES), Ok(Abilities { has_parts: false, has_system: true, has_tools: true }));
    assert_eq!(
        of(ALTERNATING),
        Ok(Abilities { has_parts: false, has_system: false, has_tools: false })
    );
    let parts = "{% for m in messages %}{{ m.role }}:{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}";
    assert_eq!(of(parts), Ok(Abilities { has_parts: true, has_system: true, has_tools: false }));
    // Calls in another form than that of the grammar.
    let other = HERMES.replace("arguments\\x22: ", "parameters\\x22: ");
    assert_eq!(of(&other).map(|abilities| abilities.has_tools), Ok(false));
    assert!(of("{{ messages[0].role }}").is_err());
    assert!(of("{{ raise_exception('Not today') }}").unwrap_err().contains("Not today"));
}

#[test]
fn a_wrong_template_is_an_error_with_its_reason() {
    for (source, reason) in [
        ("{% for %}", "syntax error"),
        ("{{ messages | unheard_of }}", "unknown filter"),
        ("{{ messages[0].content.unheard_of() }}", "unknown method"),
        ("{% include 'other' %}", "include"),
        ("{{ missing.field }}", "undefined"),
        ("{{ raise_exception('The roles\nmust alternate') }}", "The roles must alternate"),
    ] {
        let why = render(source, &[json!({"role": "user", "content": "Hi"})], &[]).unwrap_err();
        assert!(why.contains(reason), "{source}: {why}");
        assert!(why.chars().count() <= MAX_ERROR && !why.contains('\n'));
    }
    assert!(Template::compile(&"x".repeat(MAX_TEMPLATE_BYTES + 1)).is_err());
    let deep = "{% if true %}".repeat(10_000);
    assert!(Template::compile(&deep).is_err());
    let deep = format!("{{{{ {}1 }}}}", "(".repeat(10_000));
    assert!(Template::compile(&deep).is_err());
}

/// Applies hostile templates on a thread with the stack of a model's thread.
#[test]
fn hostile_templates_end_with_an_error() {
    let hostile = [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(9999) %}{{ 'x' * 99999 }}{% endfor %}",
        "{{ 'x' * 99999999999 }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
        "{% set ns = namespace(x={}) %}{% for a in range(2000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
        "{% for a in messages recursive %}{{ loop(messages) }}{% endfor %}",
    ];
    let work = move || {
        for source in hostile {
            let began = Instant::now();
            let result = render(source, &[json!({"role": "user", "content": "Hi"})], &[]);
            assert!(result.is_err() || source.contains("2000"), "{source}");
            assert!(began.elapsed() < Duration::from_secs(20), "{source}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(crate::limits::MODEL_STACK_BYTES);
    thread.spawn(work).unwrap().join().unwrap();
}

/// The templates of real models, in the folder that `AGENTLOOP_TEST_TEMPLATES` names; those of llama.cpp are in its `models/templates`.
/// What each writes is compared with `NAME.jinja.expected`, if there is one.
#[test]
fn the_templates_of_real_models_can_be_applied() {
    let Some(folder) = std::env::var_os("AGENTLOOP_TEST_TEMPLATES") else { return };
    let (mut all, mut applied, mut equal, mut compared) = (0, 0, 0, 0);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "jinja")) {
        all += 1;
        let name = path.file_name().unwrap().to_string_lossy();
        let template = match Template::compile(&std::fs::read_to_string(path).unwrap()) {
            Ok(template) => template,
            Err(why) => {
                println!("{name}: {why}");
                continue;
            }
        };
        let abilities = Abilities::of(&template, "<s>", "</s>");
        applied += usize::from(abilities.is_ok());
        println!("{name}: {abilities:?}");
        for (case, wanted) in ["plain", "tools"]
            .iter()
            .map(|case| (case, path.with_extension(format!("{case}.json"))))
        {
            let Ok(wanted) = std::fs::read_to_string(wanted) else { continue };
            let wanted: Json = serde_json::from_str(&wanted).unwrap();
            let tools = wanted["tools"].as_array().cloned().unwrap_or_default();
            let messages = wanted["messages"].as_array().cloned().unwrap_or_default();
            let written = template.render(Input {
                messages: &messages,
                tools: &tools,
                bos: "<s>",
                eos: "</s>",
            });
            compared += 1;
            match (&written, wanted["text"].as_str()) {
                (Ok(written), Some(text)) if written == text => equal += 1,
                (Err(_), None) => equal += 1,
                (written, text) => println!("  {case}: {written:?}\n  instead of {text:?}"),
            }
        }
    }
    println!("{applied} of {all} templates can be applied; {equal} of {compared} texts are equal");
}

/// A template that doubled a text in a loop had no limit, and ended the process.
#[test]
fn what_a_template_makes_is_bounded_however_it_makes_it() {
    let grow = |start: &str, step: &str| {
        format!(
            "{{% set ns = namespace(x={start}, l=[]) %}}{{% for i in range(2000) %}}{step}{{% endfor %}}{{{{ ns.x | length }}}}"
        )
    };
    let long = "'0123456789'";
    let raw = "0123456789".repeat(20_000);
    for (start, step) in [
        (long, "{% set ns.x = ns.x ~ ns.x %}".to_owned()),
        (long, "{% set ns.x = ns.x + ns.x %}".to_owned()),
        (long, "{% set ns.x = ns.x * 100 %}".to_owned()),
        (long, "{% set ns.x = 100 * ns.x %}".to_owned()),
        (long, "{% set ns.x = [ns.x, ns.x] | join(ns.x) %}".to_owned()),
        (long, "{% set ns.x = ns.x.join([ns.x, ns.x]) %}".to_owned()),
        (long, "{% set ns.x = ns.x | replace('0', ns.x) %}".to_owned()),
        (long, "{% set ns.x = ns.x.replace('', ns.x) %}".to_owned()),
        (long, "{% set ns.x = '%s%s' | format(ns.x, ns.x) %}".to_owned()),
        (long, "{% set ns.x = '{0}{0}'.format(ns.x) %}".to_owned()),
        (long, "{% set ns.x = '%1000000000d' | format(1) %}".to_owned()),
        (long, "{% set ns.x = '%*d' | format(1000000000, 1) %}".to_owned()),
        (long, "{% set ns.x = '{:1000000000}'.format(1) %}".to_owned()),
        (long, "{% set ns.x = ns.x | indent(1000000000, true) %}".to_owned()),
        (long, "{% set ns.x = 'a\nb' | indent(width=1000000000) %}".to_owned()),
        (long, "{% set ns.x = [ns.x] | tojson | tojson | tojson %}".to_owned()),
        (long, "{% set ns.x = (ns.x ~ '<&>') | escape | escape | escape %}".to_owned()),
        (long, "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}".to_owned()),
        (long, "{% macro m() %}{{ ns.x }}{{ ns.x }}{% endmacro %}{% set ns.x = m() %}".to_owned()),
        (long, "{% filter upper %}{{ ns.x }}{% set ns.x = ns.x * 2 %}{% endfilter %}".to_owned()),
        ("'x' * 1000000", "{% set ns.l = ns.l + [ns.x | upper] %}".to_owned()),
        ("'x' * 1000000", "{% set ns.l = [ns.l, ns.x[0:]] %}".to_owned()),
        ("'x' * 1000000", "{% set ns.l = [ns.l, ns.x.lower()] %}".to_owned()),
        ("'x' * 1000000", "{% set ns.l = ([ns.x] * 60000) | map('upper') | list %}".to_owned()),
        ("'a b ' * 200000", "{% set ns.l = [ns.l, ns.x.split(' ')] %}".to_owned()),
        (long, format!("{{% set ns.l = [ns.l, caught] %}}{{% set caught %}}{raw}{raw}{{% endset %}}")),
        ("[1]", "{% set ns.x = ns.x + ns.x %}".to_owned()),
        ("[1]", "{% set ns.x = ns.x * 1000 %}".to_owned()),
        ("[1]", "{% set ns.x = (ns.x | select) + (ns.x | select) %}".to_owned()),
        ("[1]", "{% set ns.x = [ns.x, ns.x] %}{% if i == 60 %}{{ ns.x }}{% endif %}".to_owned()),
        ("[1]", "{% set ns.x = [ns.x, ns.x] %}{% if i == 60 %}{% set y = ns.x | tojson %}{% endif %}".to_owned()),
        ("[1]", "{% set ns.x = [ns.x, ns.x] %}{% if i == 60 %}{% set y = ns.x | string %}{% endif %}".to_owned()),
        ("[1]", "{% set ns.x = [ns.x, ns.x] %}{% if i == 60 %}{% set y = ns.x ~ '' %}{% endif %}".to_owned()),
        ("[1]", "{% set ns.x = ns.x | sum(start='a') %}".to_owned()),
        ("[1]", "{% set ns.x = ns.x | batch(1000000000, 1) | list %}".to_owned()),
        ("[1]", "{% set ns.x = ns.x | slice(1000000000) | list %}".to_owned()),
        ("[1]", "{% set ns.x = ns.x | chain(ns.x) %}".to_owned()),
        ("'%Y' * 400000", "{% set ns.l = [ns.l, strftime_now(ns.x)] %}".to_owned()),
        ("[1]", "{% set ns.l = [ns.l, dict(ns.l | last, **{'a': range(90000) | list})] %}{% set ns.l = [ns.l, range(90000) | list] %}".to_owned()),
    ] {
        let began = Instant::now();
        let result = render(&grow(start, &step), &[], &[]);
        assert!(result.is_err(), "{start} {step:.120}");
        assert!(began.elapsed() < Duration::from_secs(20), "{step:.120}: {:?}", began.elapsed());
    }
}

#[test]
fn operators_calculate_as_before() {
    for (template, expected) in [
        ("{{ 1 + 2 * 3 }} {{ 1.5 + 1 }} {{ 2 * 0.25 }} {{ true + 1 }}", "7 2.5 0.5 2"),
        ("{{ 'a' * 3 }}{{ 2 * 'b' }}{{ 'c' * 0 }}{{ 'a' + 'b' ~ 1 ~ none }}", "aaabbab1None"),
        ("{{ [1] + [2, 3] }}{{ [1] * 2 }}{{ 0 * [1] }}", "[1, 2, 3][1, 1][]"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m('x') + m('y') }}", "<x><y>"),
        (
            "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
            "1(2(3))",
        ),
        (
            "a{% if false %}b{% elif true %}c{{ 'x'[0:1] }}{% else %}d{% endif %}e{{ 'f' if true else 'g' }}{{ none or 'h' and 'i' }}",
            "acxefi",
        ),
        (
            "{% block one %}x{{ 'y'[::-1] }}{% endblock %}{% with a = 1 %}{{ a }}{% endwith %}",
            "xy1",
        ),
    ] {
        assert_eq!(shown(template), expected, "{template}");
    }
    for template in
        ["{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ {} + [] }}", "{{ 'a' * 'b' }}", "{{ [1] * -1 }}"]
    {
        assert!(render(template, &[], &[]).is_err(), "{template}");
    }
}

/// A namespace that contains itself had no end when it was written, and ended the process. Comparing lists that contain each other took years.
#[test]
fn values_that_contain_themselves_or_each_other_end_with_an_error() {
    let nested = |make: &str, end: &str| {
        format!(
            "{{% set ns = namespace(x=[1], y=[1]) %}}{{% for i in range(60) %}}{{% set ns.x = {make} %}}{{% set ns.y = {} %}}{{% endfor %}}{end}",
            make.replace("ns.x", "ns.y")
        )
    };
    let own = "{% set ns = namespace() %}";
    let long = |sign: &str| format!("{{{{ x{} }}}}", format!(" {sign} x").repeat(60_000));
    for template in [
        format!("{own}{{% set ns.x = ns %}}{{{{ ns }}}}"),
        format!("{own}{{% set ns.x = [ns] %}}{{{{ ns.x }}}}"),
        format!("{own}{{% set l = [ns] %}}{{% set ns.x = l %}}{{{{ l | tojson }}}}"),
        format!("{own}{{% set d = {{'a': ns}} %}}{{% set ns.x = d %}}{{{{ d ~ '' }}}}"),
        format!("{own}{{% set n = namespace(x=ns) %}}{{% set ns.x = n %}}{{{{ n | string }}}}"),
        format!("{own}{{% set n = dict(x=ns) %}}{{% set ns.x = n %}}{{{{ n }}}}"),
        format!("{own}{{% set t = (ns, 1) %}}{{% set ns.x = t %}}{{{{ t }}}}"),
        format!("{own}{{% macro m() %}}{{{{ ns }}}}{{% endmacro %}}{{% set ns.x = m %}}"),
        nested("[ns.x, ns.x]", "{{ ns.x == ns.y }}"),
        nested("[ns.x, ns.x]", "{{ ns.x is eq(ns.y) }}"),
        nested("[ns.x, ns.x]", "{{ ns.x in [ns.y] }}"),
        nested("[ns.x, ns.x]", "{{ 0 < ns.x < ns.y }}"),
        nested("[ns.x, ns.x]", "{{ {ns.x: 1} | length }}"),
        nested("[ns.x, ns.x]", "{{ [ns.x, ns.y] | sort | length }}"),
        nested("[ns.x, ns.x]", "{{ [ns.x, ns.y] | unique | list | length }}"),
        nested("[ns.x] + [ns.x]", "{{ ns.x == ns.y }}"),
        nested("(ns.x, ns.x)", "{{ ns.x == ns.y }}"),
        nested("{'a': ns.x, 'b': ns.x}", "{{ ns.x == ns.y }}"),
        nested("dict(a=ns.x, b=ns.x)", "{{ ns.x == ns.y }}"),
        nested("([ns.x] | list) + ([ns.x] | list)", "{{ (ns.x | select) == (ns.y | select) }}"),
        "{% set ns = namespace(x=range(90000)) %}{% for i in range(9000) %}{% set y = -1 in ns.x %}{% endfor %}".to_owned(),
        "{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}".to_owned(),
        // The compiler calculates with constants.
        format!("{{{{ {} }}}}", vec!["('a' * 99999999)"; 1_000].join(" ~ ")),
        "{{ 'a' * 100 * 100 * 100 * 100 }}".to_owned(),
        "{{ 'a' * (9999 + 9999 * 9999) }}".to_owned(),
        "{{ 'a' * 10 ** 8 }}".to_owned(),
        "{{ [1] * 99999999 }}".to_owned(),
        long("~"),
        long("+"),
        long("or"),
        long("=="),
    ] {
        let began = Instant::now();
        let shown: String = template.chars().take(150).collect();
        // As the thread of a model.
        let thread = std::thread::Builder::new().stack_size(crate::limits::MODEL_STACK_BYTES);
        let result = thread.spawn(move || render(&template, &[], &[])).unwrap().join().unwrap();
        assert!(result.is_err(), "{shown}: {result:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{shown}: {:?}", began.elapsed());
    }
    for (template, expected) in [("{{ '-' * 40 }}", 40), ("{{ 2 * 3 * 1000 * 1000 }}", 7)] {
        assert_eq!(shown(template).len(), expected);
    }
}

#[test]
fn a_long_conversation_stays_within_the_limits() {
    let text = "word ".repeat(200);
    let messages: Vec<Json> = (0..2_000)
        .map(|number| json!({"role": (["user", "assistant"][number % 2]), "content": text}))
        .collect();
    for template in [HERMES, ALTERNATING] {
        assert!(render(template, &messages, &[]).unwrap().len() > 2_000_000);
    }
}
