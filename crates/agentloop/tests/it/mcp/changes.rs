//! Tools that change, and connections that end.

use agentloop::agent::Agent;
use serde_json::json;

use crate::mcp::fake::connected;
use crate::mcp::run::{call, model, request};
use crate::support::patience::until;

#[tokio::test]
async fn a_changed_list_of_tools_is_read_again() {
    let (_, connection) = connected().await;
    let has_grown = || connection.tools().iter().any(|tool| tool.name() == "fake__grown");
    assert!(!has_grown());
    call(&connection, "fake__grow", json!({})).await;
    until("the tools are listed again", async || has_grown()).await;
    assert_eq!(
        call(&connection, "fake__grown", json!({})).await.output.to_text(),
        "what is grown?"
    );
}

#[tokio::test]
async fn a_refresh_lists_the_tools_again() {
    let (_, connection) = connected().await;
    connection.refresh().await.unwrap();
    assert_eq!(connection.tools().len(), 10);
}

#[tokio::test]
async fn the_connection_stays_open_as_long_as_one_of_its_tools() {
    let (fake, connection) = connected().await;
    let echo = connection.tools().swap_remove(0);
    drop(connection);
    let agent = Agent::new(model(&[("fake__echo", json!({ "message": "hi" }))])).tool(echo);
    let outcome = agent.run(request()).await.unwrap();
    assert_eq!(outcome.steps[0].results[0].output.to_text(), "hi");
    drop(agent);
    fake.wait_for(|message| message == "closed").await;
}

#[tokio::test]
async fn closing_a_connection_closes_it_for_all_clones() {
    let (fake, connection) = connected().await;
    let other = connection.clone();
    connection.close().await;
    fake.wait_for(|message| message == "closed").await;
    assert!(other.is_closed());
    let result = call(&other, "fake__echo", json!({ "message": "hi" })).await;
    assert!(
        result.output.to_text().contains("closed the connection"),
        "{}",
        result.output.to_text()
    );
}
