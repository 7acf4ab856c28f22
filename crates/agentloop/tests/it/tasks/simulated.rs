//! The simulator serves every modality, in process and over HTTP.

use agentloop::{
    AgentLoop, ImageRequest, MediaFile, ModerateRequest, Protocol, Provider, RerankRequest,
    SpeechRequest, Task, Timestamps, TranscribeRequest, blocking,
};
use agentloop_sim::{Server, Simulator};

use super::png;

async fn check(ai: &AgentLoop) {
    let drawn = ai.image(ImageRequest::new("sim/image", "a cat").n(2)).await.unwrap();
    assert_eq!(drawn.images.len(), 2);
    let bytes = drawn.images[0].part.bytes().unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
    let edited =
        ai.image(ImageRequest::new("sim/image", "a cat").image(png()).mask(png())).await.unwrap();
    assert_ne!(edited.images[0].part.data, drawn.images[0].part.data);
    assert!(drawn.request_id.is_some());

    let request = || SpeechRequest::new("sim/speech", "Good morning").voice("a").format("wav");
    let speech = ai.speak(request()).await.unwrap();
    assert_eq!((speech.mime_type.as_str(), speech.extension()), ("audio/wav", Some("wav")));
    let mut streamed = ai.speak_stream(request()).await.unwrap().response().await.unwrap();
    assert_eq!(streamed.audio, speech.audio);
    streamed = ai
        .speak_stream(request().extra("stream_format", "sse"))
        .await
        .unwrap()
        .response()
        .await
        .unwrap();
    assert_eq!(streamed.audio, speech.audio);

    let audio = MediaFile::new("a.wav", speech.audio.clone());
    let request = || {
        TranscribeRequest::new("sim/transcribe", audio.clone())
            .timestamps([Timestamps::Word, Timestamps::Segment])
    };
    let complete = ai.transcribe(request()).await.unwrap();
    assert!(complete.text.contains(&speech.audio.len().to_string()));
    assert_eq!((complete.words.len(), complete.segments.len()), (6, 1));
    let streamed = ai.transcribe_stream(request()).await.unwrap().response().await.unwrap();
    assert_eq!((&streamed.text, &streamed.segments), (&complete.text, &complete.segments));
    assert_eq!(ai.transcribe(request().translate()).await.unwrap().text, complete.text);

    let documents = ["Rome", "Oslo is the capital of Norway", "a capital idea"];
    let ranked = ai
        .rerank(RerankRequest::new("sim/rerank", "the capital of Norway", documents).top_n(2))
        .await
        .unwrap();
    let order: Vec<usize> = ranked.results.iter().map(|result| result.index).collect();
    assert_eq!((order, ranked.search_units), (vec![1, 2], Some(1)));

    let checked = ai
        .moderate(ModerateRequest::new("sim/moderation", ["hello", "I will attack you"]))
        .await
        .unwrap();
    assert_eq!(
        checked.results.iter().map(|result| result.flagged).collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn the_simulator_serves_every_modality_in_process() {
    let simulator = Simulator::new();
    check(&AgentLoop::builder().provider(simulator.provider()).build().unwrap()).await;
    assert_eq!(simulator.ledger().tasks, 10);
}

#[tokio::test]
async fn the_simulator_serves_every_modality_over_http() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let provider = Provider::openai_compatible("sim", server.url());
    check(&AgentLoop::builder().provider(provider).build().unwrap()).await;
    server.shutdown().await;
}

#[test]
fn the_blocking_client_mirrors_the_calls() {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
    let ai = blocking::AgentLoop::new(ai).unwrap();
    assert_eq!(ai.image(ImageRequest::new("sim/image", "a")).unwrap().images.len(), 1);
    let speech = ai.speak(SpeechRequest::new("sim/speech", "a")).unwrap();
    let events: Result<Vec<_>, _> =
        ai.speak_stream(SpeechRequest::new("sim/speech", "a")).unwrap().collect();
    assert!(events.unwrap().len() >= 2);
    let request =
        || TranscribeRequest::new("sim/transcribe", MediaFile::new("a.wav", speech.audio.clone()));
    let text = ai.transcribe(request()).unwrap().text;
    let events: Result<Vec<_>, _> = ai.transcribe_stream(request()).unwrap().collect();
    assert_eq!(events.unwrap().len(), text.split(' ').count() + 1);
    assert_eq!(ai.rerank(RerankRequest::new("sim/rerank", "a", ["a"])).unwrap().results.len(), 1);
    assert!(!ai.moderate(ModerateRequest::new("sim/moderation", ["a"])).unwrap().is_flagged());
}

#[tokio::test]
async fn faults_and_keys_apply_to_every_modality() {
    let simulator = Simulator::new().with_key("right");
    let provider = simulator.provider_named("sim", Protocol::OpenAiChat);
    let ai = AgentLoop::builder().provider(provider.key("wrong")).build().unwrap();
    let error = ai.rerank(RerankRequest::new("sim/rerank", "a", ["a"])).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
    let request = RerankRequest::new("sim/rerank", "a", ["a"]).header("x-sim-fault", "status=503");
    assert_eq!(ai.rerank(request).await.unwrap_err().status(), Some(503));
}

#[tokio::test]
async fn a_strict_request_fails_where_a_setting_would_be_left_out() {
    let simulator = Simulator::new();
    let ai = AgentLoop::builder().provider(simulator.simulate(Provider::groq())).build().unwrap();
    let request = || SpeechRequest::new("groq/speech", "Hi").voice("a").instructions("softly");
    let speech = ai.task_stream(Task::Speech(request())).await.unwrap();
    let subjects = |warnings: &[agentloop::Warning]| -> Vec<Option<String>> {
        warnings.iter().map(|warning| warning.subject.clone()).collect()
    };
    assert_eq!(subjects(speech.warnings()), [Some("instructions".to_owned())]);
    // Middleware that reads along keeps them.
    let watched = ai.with(agentloop::middleware::Costs::new());
    let speech = watched.task_stream(Task::Speech(request())).await.unwrap();
    assert_eq!(subjects(speech.warnings()), [Some("instructions".to_owned())]);
    let sent = simulator.requests().len();
    let error = ai.speak(request().strict()).await.unwrap_err();
    assert_eq!(error.kind(), agentloop::ErrorKind::Unsupported);
    assert!(error.message().contains("instructions"), "{error}");
    let error = ai.speak_stream(request().strict()).await.unwrap_err();
    assert_eq!(error.kind(), agentloop::ErrorKind::Unsupported);
    assert_eq!(simulator.requests().len(), sent, "nothing is sent");
    let plain = SpeechRequest::new("groq/speech", "Hi").voice("a").strict();
    assert!(ai.speak(plain).await.is_ok());
}

#[tokio::test]
async fn azure_and_vertex_are_called_at_the_urls_of_their_chats() {
    let simulator = Simulator::new();
    let ai = AgentLoop::builder()
        .provider(simulator.simulate(Provider::azure()))
        .provider(simulator.simulate(Provider::vertex()))
        .build()
        .unwrap();
    let drawn = ai.image(ImageRequest::new("azure/image", "a cat")).await.unwrap();
    assert_eq!(drawn.images.len(), 1);
    let speech = ai.speak(SpeechRequest::new("azure/speech", "Hi").voice("a").format("wav")).await;
    let audio = MediaFile::new("a.wav", speech.unwrap().audio);
    ai.transcribe(TranscribeRequest::new("azure/transcribe", audio)).await.unwrap();
    // The simulator draws no images in Google's forms.
    for model in ["vertex/gemini-2.5-flash-image", "vertex/imagen-4.0-generate-001"] {
        ai.image(ImageRequest::new(model, "a cat")).await.unwrap_err();
    }
    let sent: Vec<String> =
        simulator.requests().iter().map(|request| request.uri.to_string()).collect();
    let azure = "https://sim.openai.azure.com/openai/v1";
    let vertex = "https://sim-aiplatform.googleapis.com/v1/projects/sim/locations/sim/publishers/google/models";
    assert_eq!(
        sent,
        [
            format!("{azure}/images/generations"),
            format!("{azure}/audio/speech"),
            format!("{azure}/audio/transcriptions"),
            format!("{vertex}/gemini-2.5-flash-image:generateContent"),
            format!("{vertex}/imagen-4.0-generate-001:predict"),
        ]
    );
}
