//! Responses that cost as much as they can for their bytes, in any size.
//!
//! Each is a shape that once took memory or time out of proportion, or that could.

use super::bodies::{
    Sent, Shape, anthropic, anthropic_stream, chat, chunks, cohere, cohere_stream, gemini,
    interaction, interaction_stream, list, ollama, ollama_stream, responses, responses_stream,
    same, shape,
};

/// All of them.
pub(crate) const SHAPES: &[Shape] = &[
    shape("chat: sources with search results", 500, |n| {
        let urls = list(n, |at| format!(r#""https://example.com/{at}""#));
        let results =
            list(n, |at| format!(r#"{{"url":"https://example.com/{}","title":"t"}}"#, n - at));
        chat(r#"{"content":"text"}"#, &format!(r#","citations":{urls},"search_results":{results}"#))
    }),
    shape("chat: one long search result and many sources", 500, |n| {
        let results = format!(r#"[{{"url":"u","title":"{}"}}]"#, "t".repeat(10 * n));
        let urls = same(n, r#""u""#);
        chat(r#"{"content":"text"}"#, &format!(r#","citations":{urls},"search_results":{results}"#))
    }),
    shape("chat: choices with sources", 60, |n| {
        let choice =
            |at| format!(r#"{{"index":{at},"finish_reason":"stop","message":{{"content":"a"}}}}"#);
        let urls = same(n, r#""https://example.com""#);
        let choices = list(n, choice);
        let body = format!(r#"{{"id":"a","choices":{choices},"citations":{urls}}}"#);
        Sent::whole("openai", body)
    }),
    shape("chat: empty choices", 500, |n| {
        Sent::whole("openai", format!(r#"{{"id":"a","choices":{}}}"#, same(n, "{}")))
    }),
    shape("chat: tool calls", 250, |n| {
        let call = |at| format!(r#"{{"id":"c{at}","function":{{"name":"f","arguments":"{{}}"}}}}"#);
        chat(&format!(r#"{{"tool_calls":{}}}"#, list(n, call)), "")
    }),
    shape("chat: open calls that grow in turn", 100, |n| {
        chunks(3 * n, |at| {
            let (index, turn) = (at % n, at / n);
            let id = if turn == 0 { format!(r#""id":"c{index}","#) } else { String::new() };
            let name = if turn == 0 { r#""name":"f","# } else { "" };
            let text = ["{", r#"\"a\":1"#, "}"][turn];
            let function = format!(r#"{{{name}"arguments":"{text}"}}"#);
            format!(r#"{{"tool_calls":[{{"index":{index},{id}"function":{function}}}]}}"#)
        })
    }),
    shape("chat: tool calls of one id", 250, |n| {
        let call = r#"{"id":"c","function":{"name":"f","arguments":"{}"}}"#;
        chat(&format!(r#"{{"tool_calls":{}}}"#, same(n, call)), "")
    }),
    shape("chat: empty tool calls", 250, |n| {
        chat(&format!(r#"{{"content":"a","tool_calls":{}}}"#, same(n, "{}")), "")
    }),
    shape("chat: streamed tool calls", 250, |n| {
        chunks(n, |at| {
            format!(
                r#"{{"tool_calls":[{{"index":{at},"id":"c{at}","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            )
        })
    }),
    shape("chat: streamed tool calls without a name", 250, |n| {
        chunks(n, |at| {
            format!(r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":"1"}}}}]}}"#)
        })
    }),
    shape("chat: tool calls that grow in turn", 250, |n| {
        chunks(2 * n, |at| {
            let index = at % n;
            if at < n {
                format!(
                    r#"{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"f"}}}}]}}"#
                )
            } else {
                format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":"1"}}}}]}}"#)
            }
        })
    }),
    shape("chat: reasoning details", 250, |n| {
        chunks(n, |at| {
            format!(r#"{{"reasoning_details":[{{"type":"t","index":{at},"data":"d"}}]}}"#)
        })
    }),
    shape("chat: one reasoning detail in pieces", 250, |n| {
        chunks(n, |_| {
            r#"{"reasoning_details":[{"type":"t","index":0,"text":"some words"}]}"#.to_owned()
        })
    }),
    shape("chat: annotations", 500, |n| {
        chat(&format!(r#"{{"content":"a","annotations":{}}}"#, same(n, "{}")), "")
    }),
    shape("chat: warnings", 500, |n| {
        chat(r#"{"content":"a"}"#, &format!(r#","warnings":{}"#, same(n, "0")))
    }),
    shape("chat: log probabilities", 250, |n| {
        let token = r#"{"token":"a","top_logprobs":[{"token":"b"},{"token":"c"}]}"#;
        let body = format!(
            r#"{{"id":"a","choices":[{{"message":{{"content":"a"}},"finish_reason":"stop","logprobs":{{"content":{}}}}}]}}"#,
            same(n, token)
        );
        Sent::whole("openai", body)
    }),
    shape("chat: images", 250, |n| {
        let image = r#"{"image_url":{"url":"data:image/png;base64,AAAA"}}"#;
        chat(&format!(r#"{{"content":"a","images":{}}}"#, same(n, image)), "")
    }),
    shape("chat: executed tools", 250, |n| {
        let run = |at| format!(r#"{{"index":{at},"type":"search","arguments":"{{}}"}}"#);
        chat(&format!(r#"{{"content":"a","executed_tools":{}}}"#, list(n, run)), "")
    }),
    shape("chat: content in pieces", 500, |n| {
        chat(&format!(r#"{{"content":{}}}"#, same(n, r#"{"type":"text","text":"a"}"#)), "")
    }),
    shape("chat: empty content pieces", 500, |n| {
        chat(&format!(r#"{{"content":{}}}"#, same(n, "{}")), "")
    }),
    shape("chat: blanks before thinking", 500, |n| {
        let sent = chunks(n, |_| r#"{"content":" "}"#.to_owned());
        Sent { provider: "groq", model: "deepseek-r1-distill-llama-70b", ..sent }
    }),
    shape("chat: words one by one", 500, |n| chunks(n, |_| r#"{"content":"word "}"#.to_owned())),
    shape("chat: sound in pieces with padding", 250, |n| {
        chunks(n, |_| r#"{"audio":{"data":"QQ=="}}"#.to_owned())
    }),
    shape("chat: metadata", 500, |n| {
        chat(r#"{"content":"a"}"#, &format!(r#","timings":{}"#, same(n, r#"{"":0}"#)))
    }),
    shape("gemini: one long chunk and many indices to it", 500, |n| {
        let chunk = format!(r#"{{"other":{{"text":"{}"}}}}"#, "t".repeat(2 * n));
        let indices = same(n, "0");
        let support =
            format!(r#"{{"segment":{{"endIndex":1}},"groundingChunkIndices":{indices}}}"#);
        let grounding = format!(r#""groundingChunks":[{chunk}],"groundingSupports":[{support}]"#);
        gemini(r#"[{"text":"text"}]"#, &format!(r#","groundingMetadata":{{{grounding}}}"#))
    }),
    shape("gemini: supports of a long text", 100, |n| {
        let text = format!(r#"[{{"text":"{}"}}]"#, "ä word ".repeat(n));
        let support = |at| {
            format!(
                r#"{{"segment":{{"startIndex":{at},"endIndex":{},"text":"no such"}},"groundingChunkIndices":[0]}}"#,
                at + 9
            )
        };
        let supports = list(n, support);
        let grounding = format!(
            r#""groundingChunks":[{{"web":{{"uri":"u"}}}}],"groundingSupports":{supports}"#
        );
        gemini(&text, &format!(r#","groundingMetadata":{{{grounding}}}"#))
    }),
    shape("gemini: citation sources", 500, |n| {
        let sources =
            list(n, |at| format!(r#"{{"startIndex":{at},"endIndex":{at},"uri":"u{at}"}}"#));
        gemini(
            r#"[{"text":"some text"}]"#,
            &format!(r#","citationMetadata":{{"citationSources":{sources}}}"#),
        )
    }),
    shape("gemini: calls of a response with a long id", 250, |n| {
        let parts = same(n, r#"{"functionCall":{"name":"f"}}"#);
        let id = "i".repeat(10 * n);
        let body = format!(
            r#"{{"responseId":"{id}","candidates":[{{"content":{{"parts":{parts}}},"finishReason":"STOP"}}]}}"#
        );
        Sent::whole("google", body)
    }),
    shape("gemini: texts between thoughts", 250, |n| {
        gemini(&same(n, r#"{"text":"a"},{"text":"b","thought":true}"#), "")
    }),
    shape("gemini: signed texts", 250, |n| {
        gemini(&same(n, r#"{"text":"a","thoughtSignature":"s"}"#), "")
    }),
    shape("gemini: arguments in pieces", 250, |n| {
        let piece = |at| format!(r#"{{"jsonPath":"$.a[{at}]","stringValue":"v"}}"#);
        let call = format!(r#"{{"name":"f","partialArgs":{}}}"#, list(n, piece));
        gemini(&format!(r#"[{{"functionCall":{call}}}]"#), "")
    }),
    shape("gemini: arguments with gaps", 250, |n| {
        let piece =
            |at| format!(r#"{{"jsonPath":"$.a{at}[60][60][60][60][60]","boolValue":true}}"#);
        let call = format!(r#"{{"name":"f","partialArgs":{}}}"#, list(n, piece));
        gemini(&format!(r#"[{{"functionCall":{call}}}]"#), "")
    }),
    shape("gemini: unknown parts", 250, |n| gemini(&same(n, r#"{"new":[{},{},{}]}"#), "")),
    shape("anthropic: unknown blocks", 250, |n| {
        anthropic(&same(n, r#"{"type":"new","a":[0,0,0]}"#))
    }),
    shape("anthropic: tool calls", 250, |n| {
        anthropic(&list(n, |at| {
            format!(r#"{{"type":"tool_use","id":"c{at}","name":"f","input":{{}}}}"#)
        }))
    }),
    shape("anthropic: tool calls of a message with a long id", 250, |n| {
        let blocks = same(n, r#"{"type":"tool_use","name":"f","input":{}}"#);
        let id = "i".repeat(10 * n);
        Sent::whole(
            "anthropic",
            format!(
                r#"{{"id":"{id}","type":"message","role":"assistant","content":{blocks},"stop_reason":"tool_use"}}"#
            ),
        )
    }),
    shape("anthropic: citations", 250, |n| {
        let citations = same(n, r#"{"type":"new"}"#);
        anthropic(&format!(r#"[{{"type":"text","text":"a","citations":{citations}}}]"#))
    }),
    shape("anthropic: blocks that stay open", 250, |n| {
        anthropic_stream((0..n).flat_map(|at| {
            let block = r#"{"type":"text","text":""}"#;
            [
                format!(r#"{{"type":"content_block_start","index":{at},"content_block":{block}}}"#),
                format!(r#"{{"type":"content_block_delta","index":{},"delta":{{"type":"text_delta","text":"a"}}}}"#, at / 2),
            ]
        }))
    }),
    shape("anthropic: counts of new tools", 250, |n| {
        anthropic_stream((0..n).map(|at| {
            format!(r#"{{"type":"message_delta","delta":{{}},"usage":{{"server_tool_use":{{"tool_{at}":1}}}}}}"#)
        }))
    }),
    shape("anthropic: arguments in pieces", 500, |n| {
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"a","name":"web_search","input":{}}}"#;
        let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"[[],"}}"#;
        anthropic_stream([start.to_owned()].into_iter().chain((0..n).map(|_| piece.to_owned())))
    }),
    shape("responses: a long field and many contents", 250, |n| {
        let contents = same(n, r#"{"type":"new"}"#);
        let field = "f".repeat(10 * n);
        responses(&format!(
            r#"[{{"type":"message","id":"m","long":"{field}","content":{contents}}}]"#
        ))
    }),
    shape("responses: a long id and many texts", 250, |n| {
        let contents = same(n, r#"{"type":"output_text","text":"a"}"#);
        let id = "i".repeat(10 * n);
        responses(&format!(r#"[{{"type":"message","id":"{id}","content":{contents}}}]"#))
    }),
    shape("responses: a long id and many results", 250, |n| {
        let results = same(n, r#"{"stdout":"a"}"#);
        let id = "i".repeat(10 * n);
        responses(&format!(r#"[{{"type":"sandbox_results","id":"{id}","results":{results}}}]"#))
    }),
    shape("responses: calls", 250, |n| {
        responses(&list(n, |at| {
            format!(
                r#"{{"type":"function_call","id":"i{at}","call_id":"c{at}","name":"f","arguments":"{{}}"}}"#
            )
        }))
    }),
    shape("responses: outputs of calls", 250, |n| {
        responses(&list(n, |at| {
            let id = at / 2;
            match at % 2 {
                0 => format!(
                    r#"{{"type":"function_call","id":"i{id}","call_id":"c{id}","name":"f","arguments":"{{}}"}}"#
                ),
                _ => format!(r#"{{"type":"custom_output","call_id":"c{id}"}}"#),
            }
        }))
    }),
    shape("responses: streamed calls that end later", 250, |n| {
        let item = |at| {
            format!(
                r#"{{"type":"function_call","id":"i{at}","call_id":"c{at}","name":"f","arguments":""}}"#
            )
        };
        let added = (0..n).map(move |at| {
            format!(
                r#"{{"type":"response.output_item.added","output_index":{at},"item":{}}}"#,
                item(at)
            )
        });
        let delta = (0..n).map(|at| {
            format!(r#"{{"type":"response.function_call_arguments.delta","output_index":{at},"item_id":"i{at}","delta":"{{}}"}}"#)
        });
        let done = (0..n).map(move |at| {
            format!(
                r#"{{"type":"response.output_item.done","output_index":{at},"item":{}}}"#,
                item(at)
            )
        });
        responses_stream(added.chain(delta).chain(done))
    }),
    shape("responses: items without a place", 250, |n| {
        responses_stream((0..n).flat_map(|at| {
            let item = format!(r#"{{"type":"web_search_call","id":"i{at}"}}"#);
            [
                format!(r#"{{"type":"response.output_item.added","item":{item}}}"#),
                format!(r#"{{"type":"response.output_item.done","item":{item}}}"#),
            ]
        }))
    }),
    shape("responses: annotations", 250, |n| {
        responses_stream((0..n).map(|_| {
            r#"{"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation":{}}"#.to_owned()
        }))
    }),
    shape("responses: unknown items", 250, |n| {
        responses(&same(n, r#"{"type":"new","a":[0,0,0]}"#))
    }),
    shape("chat: a whole text", 5_000, |n| {
        chat(&format!(r#"{{"content":"{}"}}"#, "word ".repeat(n)), "")
    }),
    shape("gemini: a whole text", 5_000, |n| {
        gemini(&format!(r#"[{{"text":"{}"}}]"#, "word ".repeat(n)), "")
    }),
    shape("gemini: words one by one", 500, |n| {
        let word = r#"{"candidates":[{"content":{"parts":[{"text":"word "}]}}]}"#;
        let end = r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#;
        Sent::stream("google", (0..n).map(|_| word.to_owned()).chain([end.to_owned()]))
    }),
    shape("anthropic: a whole text", 5_000, |n| {
        anthropic(&format!(r#"[{{"type":"text","text":"{}"}}]"#, "word ".repeat(n)))
    }),
    shape("anthropic: words one by one", 500, |n| {
        let word = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}"#;
        anthropic_stream((0..n).map(|_| word.to_owned()))
    }),
    shape("responses: a whole text", 5_000, |n| {
        let text = "word ".repeat(n);
        responses(&format!(
            r#"[{{"type":"message","id":"m","content":[{{"type":"output_text","text":"{text}"}}]}}]"#
        ))
    }),
    shape("responses: words one by one", 250, |n| {
        responses_stream((0..n).map(|_| {
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"word "}"#.to_owned()
        }))
    }),
    shape("ollama: tool calls", 250, |n| {
        let call = r#"{"function":{"name":"f","arguments":{}}}"#;
        ollama(&format!(r#"{{"content":"","tool_calls":{}}}"#, same(n, call)), "")
    }),
    shape("ollama: tool calls of one id", 250, |n| {
        let call = r#"{"id":"c","function":{"name":"f","arguments":{}}}"#;
        ollama(&format!(r#"{{"content":"","tool_calls":{}}}"#, same(n, call)), "")
    }),
    shape("ollama: empty tool calls", 250, |n| {
        ollama(&format!(r#"{{"content":"a","tool_calls":{}}}"#, same(n, "{}")), "")
    }),
    shape("ollama: streamed tool calls", 250, |n| {
        ollama_stream((0..n).map(|at| {
            format!(
                r#"{{"content":"","tool_calls":[{{"id":"c{at}","function":{{"name":"f","arguments":{{}}}}}}]}}"#
            )
        }))
    }),
    shape("ollama: images", 250, |n| {
        ollama(&format!(r#"{{"content":"a","images":{}}}"#, same(n, r#""iVBORw0KGgo=""#)), "")
    }),
    shape("ollama: log probabilities", 250, |n| {
        let token = r#"{"token":"a","logprob":-1,"top_logprobs":[{"token":"b","logprob":-2}]}"#;
        ollama(r#"{"content":"a"}"#, &format!(r#","logprobs":{}"#, same(n, token)))
    }),
    shape("ollama: tokens of a context", 500, |n| {
        ollama(r#"{"content":"a"}"#, &format!(r#","context":{}"#, same(n, "1")))
    }),
    shape("ollama: unknown fields", 500, |n| {
        ollama(r#"{"content":"a"}"#, &format!(r#","timings":{}"#, same(n, r#"{"":0}"#)))
    }),
    shape("ollama: texts between thoughts", 250, |n| {
        ollama_stream((0..n).flat_map(|_| {
            [r#"{"content":"a"}"#.to_owned(), r#"{"content":"","thinking":"b"}"#.to_owned()]
        }))
    }),
    shape("ollama: words one by one", 500, |n| {
        ollama_stream((0..n).map(|_| r#"{"content":"word "}"#.to_owned()))
    }),
    shape("ollama: a whole text", 5_000, |n| {
        ollama(&format!(r#"{{"content":"{}"}}"#, "word ".repeat(n)), "")
    }),
    shape("cohere: tool calls", 250, |n| {
        let call = |at| format!(r#"{{"id":"c{at}","function":{{"name":"f","arguments":"{{}}"}}}}"#);
        cohere(&format!(r#"{{"tool_plan":"p","tool_calls":{}}}"#, list(n, call)), "")
    }),
    shape("cohere: tool calls of one id", 250, |n| {
        let call = r#"{"id":"c","function":{"name":"f","arguments":"{}"}}"#;
        cohere(&format!(r#"{{"tool_calls":{}}}"#, same(n, call)), "")
    }),
    shape("cohere: streamed tool calls that stay open", 250, |n| {
        cohere_stream((0..n).flat_map(|at| {
            let call = format!(r#"{{"id":"c{at}","function":{{"name":"f","arguments":""}}}}"#);
            [
                format!(
                    r#"{{"type":"tool-call-start","index":{at},"delta":{{"message":{{"tool_calls":{call}}}}}}}"#
                ),
                format!(
                    r#"{{"type":"tool-call-delta","index":{},"delta":{{"message":{{"tool_calls":{{"function":{{"arguments":"1"}}}}}}}}}}"#,
                    at / 2
                ),
            ]
        }))
    }),
    shape("cohere: sources of a citation", 250, |n| {
        let source = r#"{"type":"document","id":"d","document":{"title":"t","text":"a"}}"#;
        let citation = format!(r#"{{"start":0,"end":1,"text":"a","sources":{}}}"#, same(n, source));
        let content = r#"[{"type":"text","text":"a"}]"#;
        cohere(&format!(r#"{{"content":{content},"citations":[{citation}]}}"#), "")
    }),
    shape("cohere: one long source and many citations", 250, |n| {
        let source = format!(
            r#"{{"type":"document","id":"d","document":{{"text":"{}"}}}}"#,
            "t".repeat(10 * n)
        );
        let long = format!(r#"{{"start":0,"end":1,"text":"a","sources":[{source}]}}"#);
        let short = r#"{"start":0,"end":1,"text":"a","sources":[{"type":"document","id":"d"}]}"#;
        let citations = format!("[{long},{}", &same(n, short)[1..]);
        let content = r#"[{"type":"text","text":"a"}]"#;
        cohere(&format!(r#"{{"content":{content},"citations":{citations}}}"#), "")
    }),
    shape("cohere: citations of a long text", 100, |n| {
        let citation = |at| {
            format!(
                r#"{{"start":{at},"end":{},"text":"no such","sources":[{{"type":"document","id":"d{at}"}}]}}"#,
                at + 9
            )
        };
        let content = format!(r#"[{{"type":"text","text":"{}"}}]"#, "ä word ".repeat(n));
        cohere(&format!(r#"{{"content":{content},"citations":{}}}"#, list(n, citation)), "")
    }),
    shape("cohere: streamed citations", 250, |n| {
        cohere_stream((0..n).map(|at| {
            let citation = format!(
                r#"{{"start":0,"end":1,"text":"a","sources":[{{"type":"document","id":"d{at}"}}]}}"#
            );
            format!(
                r#"{{"type":"citation-start","index":{at},"delta":{{"message":{{"citations":{citation}}}}}}}"#
            )
        }))
    }),
    shape("cohere: unknown blocks", 250, |n| {
        cohere(&format!(r#"{{"content":{}}}"#, same(n, r#"{"type":"new","a":[0,0,0]}"#)), "")
    }),
    shape("cohere: log probabilities", 250, |n| {
        let token = r#"{"token_ids":[1],"text":"a","logprobs":[-1]}"#;
        let content = r#"{"content":[{"type":"text","text":"a"}]}"#;
        cohere(content, &format!(r#","logprobs":{}"#, same(n, token)))
    }),
    shape("cohere: words one by one", 500, |n| {
        let start = r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}"#;
        let word = r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"word "}}}}"#;
        cohere_stream([start.to_owned()].into_iter().chain((0..n).map(move |_| word.to_owned())))
    }),
    shape("cohere: a whole text", 5_000, |n| {
        let text = "word ".repeat(n);
        cohere(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#), "")
    }),
    shape("interactions: calls", 250, |n| {
        let call =
            |at| format!(r#"{{"type":"function_call","id":"c{at}","name":"f","arguments":{{}}}}"#);
        interaction(&list(n, call))
    }),
    shape("interactions: calls of one id", 250, |n| {
        interaction(&same(
            n,
            r#"{"type":"function_call","id":"c","name":"f","arguments":{"a":[0,0]}}"#,
        ))
    }),
    shape("interactions: streamed calls that stay open", 250, |n| {
        interaction_stream((0..n).flat_map(|at| {
            [
                format!(
                    r#"{{"event_type":"step.start","index":{at},"step":{{"type":"function_call","id":"c{at}","name":"f","arguments":{{}}}}}}"#
                ),
                format!(
                    r#"{{"event_type":"step.delta","index":{},"delta":{{"type":"arguments_delta","arguments":"1"}}}}"#,
                    at / 2
                ),
            ]
        }))
    }),
    shape("interactions: unknown steps", 250, |n| {
        interaction(&same(n, r#"{"type":"new_step","a":[0,0,0]}"#))
    }),
    shape("interactions: unknown contents", 250, |n| {
        let contents = same(n, r#"{"type":"new","a":[0,0,0]}"#);
        interaction(&format!(r#"[{{"type":"model_output","content":{contents}}}]"#))
    }),
    shape("interactions: thoughts", 250, |n| {
        interaction(&same(
            n,
            r#"{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"a"}]}"#,
        ))
    }),
    shape("interactions: signatures of one thought", 250, |n| {
        interaction_stream((0..n).map(|_| {
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"thought_signature","signature":"c2lnbmF0dXJl"}}"#.to_owned()
        }))
    }),
    shape("interactions: a result in many deltas", 250, |n| {
        interaction_stream((0..n).map(|_| {
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"google_search_result","result":[{"a":1}]}}"#.to_owned()
        }))
    }),
    shape("interactions: sources of a long text", 100, |n| {
        let source = |at| {
            format!(
                r#"{{"type":"url_citation","url":"u{at}","start_index":{at},"end_index":{}}}"#,
                at + 9
            )
        };
        let text = "ä word ".repeat(n);
        let sources = list(n, source);
        interaction(&format!(
            r#"[{{"type":"model_output","content":[{{"type":"text","text":"{text}","annotations":{sources}}}]}}]"#
        ))
    }),
    shape("interactions: sources between words", 100, |n| {
        let word =
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"ä word "}}"#;
        let source = r#"{"event_type":"step.delta","index":0,"delta":{"type":"text_annotation_delta","annotations":[{"type":"url_citation","url":"u","start_index":0,"end_index":9}]}}"#;
        interaction_stream((0..n).flat_map(move |_| [word.to_owned(), source.to_owned()]))
    }),
    shape("interactions: texts between images", 250, |n| {
        let contents = same(n, r#"{"type":"text","text":"a"},{"type":"image","data":"AAAA"}"#);
        interaction(&format!(r#"[{{"type":"model_output","content":{contents}}}]"#))
    }),
    shape("interactions: audio in pieces", 250, |n| {
        interaction_stream((0..n).map(|_| {
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"audio","mime_type":"audio/l16","data":"AA=="}}"#.to_owned()
        }))
    }),
    shape("interactions: words one by one", 500, |n| {
        let word =
            r#"{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"word "}}"#;
        interaction_stream((0..n).map(move |_| word.to_owned()))
    }),
    shape("interactions: a whole text", 5_000, |n| {
        let text = "word ".repeat(n);
        interaction(&format!(
            r#"[{{"type":"model_output","content":[{{"type":"text","text":"{text}"}}]}}]"#
        ))
    }),
];
