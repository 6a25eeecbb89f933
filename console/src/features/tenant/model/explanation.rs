//! What an answer to "why was it denied?" is made of: a sentence, the arithmetic line by line, and when it can pass.

use crate::glossary::Term;

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// What decided, in one sentence.
    pub headline: String,
    /// The arithmetic, from the limit to what was left.
    pub steps: Vec<Step>,
    /// When a request can pass.
    pub can_pass: String,
    /// What the figures leave out, if anything.
    pub notes: Vec<String>,
}

/// One line of the arithmetic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// What it is.
    pub label: String,
    /// How it comes about; empty where it is a fact.
    pub formula: String,
    /// The figure.
    pub value: String,
    /// Its unit.
    pub unit: &'static str,
    /// Whether this line is what decided.
    pub binding: bool,
}

impl Step {
    /// A fact.
    pub fn fact(label: impl Into<String>, value: impl Into<String>, unit: &'static str) -> Self {
        Self {
            label: label.into(),
            value: value.into(),
            unit,
            ..Self::default()
        }
    }

    /// With how it comes about.
    #[must_use]
    pub fn from(mut self, formula: impl Into<String>) -> Self {
        self.formula = formula.into();
        self
    }

    /// The word that is explained beside the line.
    ///
    /// ```
    /// use weir_console::features::tenant::model::explanation::Step;
    /// use weir_console::glossary::Term;
    /// assert_eq!(Step::fact("Guarantee", "100", "units").term(), Some(Term::Guarantee));
    /// assert_eq!(Step::fact("Asked for", "100", "units").term(), None);
    /// ```
    pub fn term(&self) -> Option<Term> {
        Some(match self.label.as_str() {
            "Limit of the window" => Term::Window,
            "Its weight" => Term::Weight,
            "Guarantee" => Term::Guarantee,
            "May borrow" => Term::Borrowed,
            "Ceiling" => Term::Ceiling,
            "Ideal share" => Term::IdealShare,
            _ => return None,
        })
    }

    /// As what decided, if it did.
    #[must_use]
    pub fn binds(mut self, binding: bool) -> Self {
        self.binding = binding;
        self
    }
}
