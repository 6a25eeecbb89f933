//! The reader as a deserializer. What does not depend on the form that is read is in `scan`, where it is compiled once.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::Fault;
use super::key::Key;
use super::scan::{Number, fault};

/// Reads a text from its start.
pub struct Reader<'de> {
    pub(super) text: &'de str,
    /// Byte that is read next.
    pub(super) at: usize,
    /// Brackets that are open.
    pub(super) depth: u8,
}

impl<'de> Reader<'de> {
    /// Before anything is read.
    #[must_use]
    pub fn new(text: &'de str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    /// What was read, if nothing follows it.
    ///
    /// # Errors
    /// The fault of what was read, with its place; something that follows.
    pub fn end<T>(&mut self, read: Result<T, Fault>) -> Result<T, Fault> {
        let ended = match read {
            Ok(_) => self.over(),
            Err(fault) => return Err(self.placed(fault)),
        };
        ended.and(read)
    }

    fn over(&mut self) -> Result<(), Fault> {
        self.peek();
        match self.at >= self.text.len() {
            true => Ok(()),
            false => Err(self.placed(fault("trailing characters"))),
        }
    }

    #[cold]
    fn placed(&self, fault: Fault) -> Fault {
        fault.at(self.text, self.at)
    }

    /// The fault of a value, under the name that begins at byte `at`.
    #[cold]
    #[inline(never)]
    fn under(&self, fault: Fault, at: usize) -> Fault {
        let mut again = Reader::new(self.text);
        again.at = at;
        match again.string() {
            Ok(name) => fault.within(name.into_owned()),
            Err(_) => fault,
        }
    }

    fn numeric<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        match self.number()? {
            Some(Number::Positive(number)) => visitor.visit_u64(number),
            Some(Number::Negative(number)) => visitor.visit_i64(number),
            Some(Number::Fraction(number)) => visitor.visit_f64(number),
            None => Err(self.unexpected(&visitor)),
        }
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        self.enter()?;
        let value = visitor.visit_seq(Elements {
            reader: &mut *self,
            index: 0,
        })?;
        self.leave(b']')?;
        Ok(value)
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        self.enter()?;
        let value = visitor.visit_map(Members {
            reader: &mut *self,
            is_first: true,
            name_at: 0,
        })?;
        self.leave(b'}')?;
        Ok(value)
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.numeric(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            b'{' => self.object(visitor),
            b'[' => self.list(visitor),
            b'"' => visitor.visit_str(&self.string()?),
            b'n' => {
                self.word("null")?;
                visitor.visit_unit()
            }
            _ => match self.boolean()? {
                Some(value) => visitor.visit_bool(value),
                None => self.numeric(visitor),
            },
        }
    }

    numbers!(
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_f32 deserialize_f64
    );

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.boolean()? {
            Some(value) => visitor.visit_bool(value),
            None => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            b'"' => visitor.visit_str(&self.string()?),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.peek() == b'n' {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.peek() == b'n' {
            self.word("null")?;
            return visitor.visit_unit();
        }
        Err(self.unexpected(&visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            b'[' => self.list(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            b'{' => self.object(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.peek() {
            b'{' => self.object(visitor),
            b'[' => Err(fault("must be an object")),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.peek() {
            b'"' => visitor.visit_enum(Variant {
                reader: self,
                within: None,
            }),
            b'{' => {
                self.enter()?;
                if !self.next_entry(true, b'}')? {
                    return Err(fault("expected value"));
                }
                let name_at = self.at;
                let value = visitor.visit_enum(Variant {
                    reader: &mut *self,
                    within: Some(name_at),
                })?;
                self.leave(b'}')?;
                Ok(value)
            }
            _ => Err(self.unexpected(&"string or map")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bytes byte_buf }
}

/// The elements of a list.
struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        if !self.reader.next_entry(self.index == 0, b']')? {
            return Ok(None);
        }
        let index = self.index;
        self.index += 1;
        match seed.deserialize(&mut *self.reader) {
            Ok(value) => Ok(Some(value)),
            Err(fault) => Err(fault.within(index.to_string())),
        }
    }
}

/// The members of an object.
struct Members<'a, 'de> {
    reader: &'a mut Reader<'de>,
    is_first: bool,
    /// Where the last name begins.
    name_at: usize,
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        if !self.reader.next_entry(self.is_first, b'}')? {
            return Ok(None);
        }
        self.is_first = false;
        self.name_at = self.reader.at;
        let name = self.reader.string()?;
        match seed.deserialize(Key(&name)) {
            Ok(key) => Ok(Some(key)),
            Err(fault) => Err(fault.within(name.into_owned())),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        self.reader.colon()?;
        match seed.deserialize(&mut *self.reader) {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.reader.under(fault, self.name_at)),
        }
    }
}

/// A variant: a word, or the only name of an object with what belongs to it.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// Where the name begins, in an object.
    within: Option<usize>,
}

impl<'de> Variant<'_, 'de> {
    fn value<T>(self, read: impl FnOnce(&mut Reader<'de>) -> Result<T, Fault>) -> Result<T, Fault> {
        let Some(name_at) = self.within else {
            return Err(fault("must be an object with a value"));
        };
        self.reader.colon()?;
        read(self.reader).map_err(|fault| self.reader.under(fault, name_at))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name = self.reader.string()?;
        Ok((seed.deserialize(Key(&name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.within {
            None => Ok(()),
            Some(_) => self.value(|reader| {
                let expected: &dyn serde::de::Expected = &"null";
                match reader.peek() {
                    b'n' => reader.word("null"),
                    _ => Err(reader.unexpected(expected)),
                }
            }),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.value(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.value(|reader| reader.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.value(|reader| reader.deserialize_struct("", fields, visitor))
    }
}
