//! Bodies on their way: handed on as streams by the platform, chunk by chunk as the reader takes them, and never through
//! the Worker's memory. Only bytes that have to be counted pass by it, one chunk at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ReadableStream, TransformStream};
use weir_shared::gateway::usage::reader::UsageReader;
use worker::js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array, global};

use crate::http::failure::Failure;

/// A body that passes by.
pub struct Passing {
    /// What the reader gets.
    pub out: ReadableStream,
    /// Settles when the last byte was taken, or either side has gone.
    pub passing: Promise,
    /// What passed, where it is counted.
    pub counted: Option<Counted>,
}

/// Counts the bytes of a body. Kept for as long as the body passes.
pub struct Counted {
    bytes: Rc<Cell<u64>>,
    _transform: Closure<dyn FnMut(JsValue, JsValue)>,
}

impl Counted {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

/// Hands on a body of `length` bytes, or of unknown length, without looking at it.
///
/// # Errors
/// When the platform has no such stream.
pub fn pass(body: &ReadableStream, length: Option<u64>) -> Result<Passing, Failure> {
    let through = match length {
        // A body of that length keeps its Content-Length.
        Some(bytes) => native("FixedLengthStream", &Array::of1(&(bytes as f64).into()))?,
        None => native("IdentityTransformStream", &Array::new())?,
    };
    Ok(Passing {
        passing: body.pipe_to(&through.writable()),
        out: through.readable(),
        counted: None,
    })
}

/// Hands on a body of unknown length and counts its bytes.
///
/// # Errors
/// When the platform has no such stream.
pub fn count(body: &ReadableStream) -> Result<Passing, Failure> {
    let bytes = Rc::new(Cell::new(0_u64));
    let counter = Rc::clone(&bytes);
    let transform = move |chunk: JsValue, controller: JsValue| {
        if let Some(chunk) = chunk.dyn_ref::<Uint8Array>() {
            let total = counter.get().saturating_add(u64::from(chunk.byte_length()));
            counter.set(total);
        }
        enqueue(&controller, &chunk);
    };
    let transform = Closure::<dyn FnMut(JsValue, JsValue)>::new(transform);
    let through = transformed(&[("transform", transform.as_ref())])?;
    Ok(Passing {
        passing: body.pipe_to(&through.writable()),
        out: through.readable(),
        counted: Some(Counted {
            bytes,
            _transform: transform,
        }),
    })
}

/// Reads an answer while it passes. Kept for as long as it does.
pub struct UsageObserver {
    reader: Rc<RefCell<UsageReader>>,
    _transform: Closure<dyn FnMut(JsValue, JsValue)>,
    _flush: Closure<dyn FnMut(JsValue)>,
}

impl UsageObserver {
    /// What was read so far.
    pub fn read<R>(&self, look: impl FnOnce(&UsageReader) -> R) -> R {
        look(&self.reader.borrow())
    }
}

/// Hands on a body of `length` bytes, or of unknown length, as a reader has it; with what has read it.
///
/// # Errors
/// When the platform has no such stream.
pub fn observe(
    body: &ReadableStream,
    length: Option<u64>,
    reader: UsageReader,
) -> Result<(Passing, UsageObserver), Failure> {
    let reader = Rc::new(RefCell::new(reader));
    let (reads, ends) = (Rc::clone(&reader), Rc::clone(&reader));
    let transform = move |chunk: JsValue, controller: JsValue| {
        let bytes = chunk.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
        let instead = bytes.and_then(|bytes| reads.borrow_mut().feed(&bytes));
        match instead {
            None => enqueue(&controller, &chunk),
            Some(bytes) if bytes.is_empty() => {}
            Some(bytes) => enqueue(&controller, &Uint8Array::from(&bytes[..])),
        }
    };
    let flush = move |controller: JsValue| {
        let last = ends.borrow_mut().end();
        if !last.is_empty() {
            enqueue(&controller, &Uint8Array::from(&last[..]));
        }
    };
    let transform = Closure::<dyn FnMut(JsValue, JsValue)>::new(transform);
    let flush = Closure::<dyn FnMut(JsValue)>::new(flush);
    let through = transformed(&[("transform", transform.as_ref()), ("flush", flush.as_ref())])?;
    // It breaks off with the next pipe, which the platform ends when the client has gone.
    let before = JsFuture::from(body.pipe_to(&through.writable()));
    spawn_local(async move { drop(before.await) });
    let passing = pass(&through.readable(), length)?;
    let observer = UsageObserver {
        reader,
        _transform: transform,
        _flush: flush,
    };
    Ok((passing, observer))
}

/// Hands a chunk to the reader of a transform. One that has gone takes no more; the pipe hears of it by itself.
fn enqueue(controller: &JsValue, chunk: &JsValue) {
    let enqueue = Reflect::get(controller, &"enqueue".into()).ok();
    if let Some(enqueue) = enqueue.and_then(|value| value.dyn_into::<Function>().ok()) {
        let _gone = enqueue.call1(controller, chunk);
    }
}

/// A transform of these methods.
fn transformed(methods: &[(&str, &JsValue)]) -> Result<TransformStream, Failure> {
    let transformer = Object::new();
    for (name, method) in methods {
        Reflect::set(&transformer, &(*name).into(), method).map_err(failure)?;
    }
    TransformStream::new_with_transformer(&transformer).map_err(failure)
}

/// A transform that the platform runs without JavaScript.
fn native(class: &str, arguments: &Array) -> Result<TransformStream, Failure> {
    let class = Reflect::get(&global(), &class.into()).map_err(failure)?;
    let class: Function = class.dyn_into().map_err(failure)?;
    let made = Reflect::construct(&class, arguments).map_err(failure)?;
    Ok(made.unchecked_into())
}

fn failure(error: JsValue) -> Failure {
    Failure::Internal(format!("stream: {error:?}"))
}
