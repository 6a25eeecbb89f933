//! The sections of the policy document: one row a field.
//!
//! A row is `pub NAME: TYPE = "FORM";` below the field's comment and attributes. From it come the field of the struct and its
//! place in the OpenAPI document, so that neither can have a field that the other lacks. A row may also say:
//!
//! | written | means |
//! | --- | --- |
//! | `NAME as "WORD"` | what the document calls a field whose word is not free in Rust |
//! | `= required "FORM"` | a request without the field does not fit the OpenAPI document |
//! | `"FORM", VALUE` | what counts where nobody says it, if that is not the default of the type |
//! | `...Changes;` | the fields of [`super::changes`] |

/// Makes the form of a section from its rows, and `SCHEMA`: its fields, as the OpenAPI document has them.
macro_rules! section {
    ($(#[$doc:meta])* pub struct $form:ident {
        $($(#[$row:meta])* pub $name:ident $(as $word:literal)?: $type:ty = $($required:ident)? $schema:literal $(, $default:expr)?;)*
        ...Changes;
        $($after:tt)*
    }) => {
        $crate::changes::changes! { @around { $(#[$doc])* $form }
            { $($(#[$row])* pub $name $(as $word)?: $type = $($required)? $schema $(, $default)?;)* } { $($after)* }
        }
    };

    ($(#[$doc:meta])* pub struct $form:ident { $($rows:tt)* }) => {
        $crate::section::section! { @form { $(#[$doc])* $form } { $($rows)* } { $crate::section::section!(@fields { $($rows)* }) } }
    };

    (@around { $($form:tt)* } { $($before:tt)* } { $($after:tt)* } { $($changes:tt)* }) => {
        $crate::section::section! { @form { $($form)* } { $($before)* $($changes)* $($after)* } {
            concat!(
                $crate::section::section!(@fields { $($before)* }),
                "...Changes, ",
                $crate::section::section!(@fields { $($after)* }),
            )
        } }
    };

    (@form { $(#[$doc:meta])* $form:ident } {
        $($(#[$row:meta])* pub $name:ident $(as $word:literal)?: $type:ty = $($required:ident)? $schema:literal $(, $default:expr)?;)*
    } { $fields:expr }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $form {
            $($(#[$row])*
            $(#[serde(rename = $word)])?
            pub $name: $type,)*
        }

        impl Default for $form {
            fn default() -> Self {
                Self { $($name: $crate::section::section!(@default $($default)?),)* }
            }
        }

        impl $form {
            /// Its fields, as the OpenAPI document has them.
            pub const SCHEMA: &str = $fields;
        }
    };

    (@fields {
        $($(#[$row:meta])* pub $name:ident $(as $word:literal)?: $type:ty = $($required:ident)? $schema:literal $(, $default:expr)?;)*
    }) => {
        concat!($(
            $crate::section::section!(@word $name $($word)?),
            $crate::section::section!(@mark $($required)?),
            $schema,
            ", ",
        )*)
    };

    (@word $name:ident) => { stringify!($name) };
    (@word $name:ident $word:literal) => { $word };
    (@mark) => { "?: " };
    (@mark required) => { ": " };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

pub(crate) use section;
