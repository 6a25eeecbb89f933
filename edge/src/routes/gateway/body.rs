//! Bodies on their way: handed on as streams by the platform, chunk by chunk as the reader takes them, and never through
//! the Worker's memory. Only bytes that have to be counted pass by it, one chunk at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise, spawn_local};
use web_sys::{
    ReadableStream, ReadableStreamDefaultReader, TransformStream, WritableStreamDefaultWriter,
};
use weir_shared::gateway::usage::reader::UsageReader;
use worker::js_sys::{Array, ArrayBuffer, Function, Object, Promise, Reflect, Uint8Array, global};

use crate::http::failure::Failure;

/// How much of a body that is counted is under way at once.
const BUFFER_BYTES: u32 = 64 * 1024;

/// A body that passes by.
pub struct Passing {
    /// What the reader gets.
    pub out: ReadableStream,
    /// Settles when the last byte was taken, or either side has gone.
    pub passing: Promise,
    /// What passed, where it is counted.
    pub counted: Option<Counted>,
}

/// The bytes of a body, as they pass.
pub struct Counted {
    bytes: Rc<Cell<u64>>,
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
    let bytes = Rc::new(Cell::new(0));
    let through = native("IdentityTransformStream", &Array::new())?;
    let writer = through.writable().get_writer().map_err(failure)?;
    let passed = pump(reader(body)?, writer, Rc::clone(&bytes));
    Ok(Passing {
        passing: future_to_promise(passed),
        out: through.readable(),
        counted: Some(Counted { bytes }),
    })
}

/// Moves a body by one buffer: a transform in JavaScript makes a new one of each chunk, and of a body that comes quickly the
/// runtime keeps a tenth until it finds the time to collect garbage.
async fn pump(
    reader: ReadableStreamDefaultReader,
    writer: WritableStreamDefaultWriter,
    bytes: Rc<Cell<u64>>,
) -> Result<JsValue, JsValue> {
    let mut buffer = ArrayBuffer::new(BUFFER_BYTES);
    loop {
        let read = match read(&reader, &buffer).await {
            Ok(read) => read,
            Err(broken) => {
                let _gone = JsFuture::from(writer.abort_with_reason(&broken)).await;
                return Err(broken);
            }
        };
        let Some(chunk) = read else {
            return JsFuture::from(writer.close()).await;
        };
        bytes.set(bytes.get().saturating_add(chunk.byte_length().into()));
        if let Err(gone) = JsFuture::from(writer.write_with_chunk(&chunk)).await {
            let _gone = JsFuture::from(reader.cancel_with_reason(&gone)).await;
            return Err(gone);
        }
        buffer = chunk.buffer();
    }
}

/// A reader that fills a buffer which it is given, where the stream can; else one that makes its own.
fn reader(body: &ReadableStream) -> Result<ReadableStreamDefaultReader, Failure> {
    let get = function(body, "getReader").map_err(failure)?;
    let options = Object::new();
    Reflect::set(&options, &"mode".into(), &"byob".into()).map_err(failure)?;
    let reader = get.call1(body, &options).or_else(|_| get.call0(body));
    Ok(reader.map_err(failure)?.unchecked_into())
}

/// The next chunk, in the buffer; nothing after the last one.
async fn read(
    reader: &ReadableStreamDefaultReader,
    buffer: &ArrayBuffer,
) -> Result<Option<Uint8Array>, JsValue> {
    let reading = function(reader, "read")?.call1(reader, &Uint8Array::new(buffer))?;
    let read = JsFuture::from(Promise::from(reading)).await?;
    if Reflect::get(&read, &"done".into())?.is_truthy() {
        return Ok(None);
    }
    Ok(Some(Reflect::get(&read, &"value".into())?.unchecked_into()))
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
    if let Ok(enqueue) = function(controller, "enqueue") {
        let _gone = enqueue.call1(controller, chunk);
    }
}

/// The method of that name.
fn function(of: &JsValue, name: &str) -> Result<Function, JsValue> {
    Reflect::get(of, &name.into())?.dyn_into()
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
    let class = function(&global(), class).map_err(failure)?;
    let made = Reflect::construct(&class, arguments).map_err(failure)?;
    Ok(made.unchecked_into())
}

fn failure(error: JsValue) -> Failure {
    Failure::Internal(format!("stream: {error:?}"))
}
