//! What the labelling server answers to, as an OpenAPI document.

use serde_json::{Value, json};

fn content(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn responses(description: &str) -> Value {
    let error = json!({"$ref": "#/components/schemas/Error"});
    let mut responses = json!({"200": {"description": description, "content": content(&json!({"type": "object"}))}});
    for (status, about) in [
        ("400", "The request is wrong."),
        ("401", "The token is missing or wrong."),
        ("403", "Host or Origin is not ours."),
        ("404", "There is no such document."),
        ("405", "Another method is asked for."),
        ("408", "The body or the answer took too long."),
        ("409", "There is nothing to take back, or nothing learnt yet."),
        ("413", "The body is too large."),
        ("429", "There is no room just now."),
    ] {
        responses[status] = json!({"description": about, "content": content(&error)});
    }
    responses
}

fn get(name: &str, about: &str, parameters: &[(&str, &str)]) -> Value {
    let parameters: Vec<Value> =
        parameters.iter().map(|(name, kind)| json!({"name": name, "in": "query", "schema": {"type": kind}})).collect();
    json!({
        "operationId": name, "summary": about, "security": [{"token": []}], "parameters": parameters, "responses": responses("The answer."),
    })
}

fn post(name: &str, about: &str, properties: Value, required: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({
        "operationId": name, "summary": about, "security": [{"token": []}],
        "requestBody": {"required": true, "content": content(&schema)},
        "responses": responses("Done, and on disk."),
    })
}

/// The whole document.
pub(super) fn document() -> Value {
    let text = || json!({"type": "string"});
    let list = || json!({"type": "array", "items": {"type": "string"}});
    let page = [("offset", "integer"), ("limit", "integer")];
    let mut documents = vec![("show", "string"), ("label", "string"), ("q", "string")];
    documents.extend(page);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "corpuscle label", "version": env!("CARGO_PKG_VERSION"),
            "description": "A pile of documents, their labels, and a model that learns along.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "paths": {
            "/v1/labels": {
                "post": post("label", "Labels a document.", json!({
                    "id": text(), "label": text(), "labels": list(), "note": text(), "author": text(), "next": {"type": "boolean"},
                }), &["id"]),
                "get": get("labels", "The label of every document that has one.", &page),
            },
            "/v1/skip": {"post": post("skip", "Leaves a document for later.", json!({"id": text(), "author": text(), "next": {"type": "boolean"}}), &["id"])},
            "/v1/notes": {"post": post("note", "Remarks on a document.", json!({"id": text(), "note": text(), "author": text()}), &["id", "note"])},
            "/v1/undo": {"post": post("undo", "Takes back the author's last act.", json!({"author": text()}), &[])},
            "/v1/classes": {"post": post("class", "Names a class.", json!({"name": text(), "about": text(), "author": text()}), &["name"])},
            "/v1/next": {"get": get("next", "The next document to label.", &[("author", "string")])},
            "/v1/document": {"get": get("document", "One document.", &[("id", "string"), ("author", "string")])},
            "/v1/documents": {"get": get("documents", "Documents by filter and search.", &documents)},
            "/v1/events": {"get": get("events", "Everything that was done.", &[("after", "integer"), ("limit", "integer")])},
            "/v1/state": {"get": get("state", "Counts, accuracy, curve, agreement.", &[])},
            "/v1/map": {"get": get("map", "Where documents lie.", &[])},
            "/v1/predict": {"post": post("predict", "What the model of the moment says of texts.", json!({"texts": list()}), &["texts"])},
            "/v1/export": {"get": get("export", "All labels: jsonl, csv or labelstudio.", &[("format", "string")])},
            "/v1/import": {"post": post("import", "Labels from any of these formats.", json!({}), &[])},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {
                "type": "object", "required": ["error"],
                "properties": {"error": {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}}},
            }},
        },
    })
}
