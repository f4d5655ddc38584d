//! What the server answers to, as an OpenAPI document.

use serde_json::{Value, json};

/// A body in JSON.
fn body(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A `POST` of one schema for another.
fn post(name: &str, about: &str, asked: &str, answer: &str, lines: bool) -> Value {
    let mut content = body(&reference(asked));
    let mut answered = body(&reference(answer));
    let mut parameters = json!([]);
    if lines {
        let line = "One line for each line, in order: a prediction, or an error in its place.";
        content["application/x-ndjson"] = json!({"schema": {"type": "string", "description": "A text in JSON a line, or an object with `text` and `id`."}});
        answered["application/x-ndjson"] = json!({"schema": {"type": "string", "description": line}});
        parameters = json!([
            {"name": "model", "in": "query", "schema": {"type": "string"}, "description": "The model, for lines."},
            {"name": "top", "in": "query", "schema": {"type": "integer", "minimum": 0}, "description": "How many classes, for lines."},
        ]);
    }
    let mut responses = json!({"200": {"description": "The answer.", "content": answered}});
    for (status, about) in [
        ("400", "The request is wrong."),
        ("401", "The token is missing or wrong."),
        ("403", "Host or Origin is not ours."),
        ("404", "There is no such model, or no index."),
        ("405", "Another method is asked for."),
        ("408", "The body or the answer took too long."),
        ("413", "The body is too large."),
        ("429", "There is no room just now."),
    ] {
        responses[status] = json!({"description": about, "content": body(&reference("Error"))});
    }
    json!({"post": {
        "operationId": name, "summary": about, "parameters": parameters, "security": [{"token": []}],
        "requestBody": {"required": true, "content": content}, "responses": responses,
    }})
}

fn get(name: &str, about: &str, kind: &str, open: bool) -> Value {
    let schema = if kind == "application/json" { json!({"type": "object"}) } else { json!({"type": "string"}) };
    get_as(name, about, &json!({kind: {"schema": schema}}), open)
}

/// A `GET` of this content.
fn get_as(name: &str, about: &str, content: &Value, open: bool) -> Value {
    let mut responses = json!({"200": {"description": "The answer.", "content": content}});
    responses["403"] = json!({"description": "Host or Origin is not ours.", "content": body(&reference("Error"))});
    responses["429"] = json!({"description": "There is no room just now.", "content": body(&reference("Error"))});
    if !open {
        responses["401"] =
            json!({"description": "The token is missing or wrong.", "content": body(&reference("Error"))});
    }
    let security = if open { json!([]) } else { json!([{"token": []}]) };
    json!({"get": {"operationId": name, "summary": about, "security": security, "responses": responses}})
}

/// The whole document.
pub(super) fn document() -> Value {
    let texts = json!({
        "texts": {"type": "array", "items": {"type": "string"}, "maxItems": super::predict::MOST_TEXTS},
        "model": {"type": "string", "description": "Which model; the first when left out."},
    });
    let with = |more: Value| {
        let mut properties = texts.clone();
        if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
            properties.extend(more);
        }
        json!({"type": "object", "properties": properties, "required": ["texts"]})
    };
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let number = || json!({"type": ["number", "null"]});
    let name = || json!({"type": ["string", "null"]});
    let list = |items: Value| json!({"type": "array", "items": items});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let from = |key: &str, items: Value| {
        object(json!({"model": {"type": "string"}, "version": {"type": "string"}, key: list(items)}))
    };
    let steps = || list(json!({"type": "integer", "minimum": 0}));
    let sign = |more: Value| {
        let mut properties = json!({
            "share": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}, "expected": number(),
            "histogram": steps(),
        });
        if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
            properties.extend(more);
        }
        json!({"type": ["object", "null"], "properties": properties})
    };
    let class = || object(json!({"label": {"type": "string"}, "probability": number(), "score": {"type": "number"}}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "corpuscle serve", "version": env!("CARGO_PKG_VERSION"),
            "description": "Models of corpuscle: predict, explain, embed, search.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "paths": {
            "/v1/predict": post("predict", "The label of each text.", "Predict", "Predictions", true),
            "/v1/explain": post("explain", "The words and documents behind each label.", "Explain", "Explanations", false),
            "/v1/embed": post("embed", "Each text as a vector.", "Embed", "Vectors", false),
            "/v1/search": post("search", "Documents of the index for a query.", "Search", "Hits", false),
            "/v1/drift": get_as("drift", "Whether recent texts are unlike those trained on.", &body(&reference("Drift")), false),
            "/v1/models": get("models", "The models and their versions.", "application/json", false),
            "/metrics": get("metrics", "Counters for Prometheus.", "text/plain", false),
            "/healthz": get("healthz", "Whether the server lives.", "application/json", true),
            "/readyz": get("readyz", "Whether it can answer.", "application/json", true),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Predict": with(json!({"top": count("The best classes of each text.")})),
                "Explain": with(json!({"top": count("Words."), "near": count("Documents.")})),
                "Embed": with(json!({})),
                "Search": {
                    "type": "object", "required": ["query"],
                    "properties": {"query": {"type": "string"}, "top": count("Documents.")},
                },
                "Predictions": from("predictions", object(json!({
                    "label": name(), "probability": number(), "score": number(), "novelty": number(),
                    "labels": list(class()), "top": list(class()),
                }))),
                "Explanations": from("explanations", object(json!({
                    "label": name(), "probability": number(), "score": number(), "runner_up": name(), "novelty": number(),
                    "weighing": {"type": "string"}, "about": {"type": "string"}, "classes": list(class()),
                    "terms": list(object(json!({"term": {"type": "string"}, "amount": {"type": "number"}}))),
                    "neighbours": list(json!({"type": "object"})),
                }))),
                "Vectors": from("vectors", json!({
                    "oneOf": [
                        {"type": "array", "items": {"type": "number"}},
                        {"type": "object", "required": ["indices", "values"], "properties": {
                            "indices": list(json!({"type": "integer"})), "values": list(json!({"type": "number"})),
                        }},
                    ],
                })),
                "Drift": object(json!({"models": list(object(json!({
                    "name": {"type": "string"}, "version": {"type": "string"},
                    "documents": count("Texts looked at: the last ones, at most `window`."),
                    "window": count("Texts that are remembered."), "least": count("Texts from which on something is said."),
                    "drifted": {"type": ["boolean", "null"], "description": "Null while there are too few, or where the model cannot tell."},
                    "since": {"type": ["string", "null"], "description": "When it began."}, "verdict": {"type": "string"},
                    "errors": {"type": "number", "description": "Standard errors of the intervals."},
                    "novelty": sign(json!({})), "unknown_words": sign(json!({"many": {"type": ["boolean", "null"]}})),
                    "classes": list(object(json!({"label": {"type": "string"}, "share": {"type": "number"}}))),
                })))})),
                "Hits": object(json!({"hits": list(object(json!({
                    "id": {"type": "string"}, "score": {"type": "number"}, "snippet": {"type": "string"},
                    "terms": list(json!({"type": "string"})),
                })))})),
                "Error": {
                    "type": "object", "required": ["error"],
                    "properties": {"error": {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}}},
                },
            },
        },
    })
}
