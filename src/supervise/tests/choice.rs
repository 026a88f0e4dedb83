//! The choice of what happens next, where several things may.

use rand::Rng as _;
use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;

/// The decisions of a run.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// Each choice, and the number of alternatives.
    pub(super) made: Vec<(usize, usize)>,
    /// The choices to make first.
    given: Vec<usize>,
    /// Makes the choices after these. Without it, they are the first alternative.
    generator: Option<Xoshiro256PlusPlus>,
}

impl Choices {
    /// These choices, then always the first alternative.
    pub(super) fn given(given: Vec<usize>) -> Self {
        Self {
            made: Vec::new(),
            given,
            generator: None,
        }
    }

    /// Choices by chance.
    pub(super) fn seeded(seed: u64) -> Self {
        Self {
            made: Vec::new(),
            given: Vec::new(),
            generator: Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
        }
    }

    /// Chooses one of so many alternatives.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        if of < 2 {
            return 0;
        }
        let chosen = match (self.given.get(self.made.len()), &mut self.generator) {
            (Some(given), _) => (*given).min(of - 1),
            (None, Some(generator)) => by_chance(generator, of),
            (None, None) => 0,
        };
        self.made.push((chosen, of));
        chosen
    }

    /// Returns the choices, without first alternatives at the end.
    pub(super) fn picked(&self) -> Vec<usize> {
        let mut picked: Vec<usize> = self.made.iter().map(|(chosen, _)| *chosen).collect();
        while picked.last() == Some(&0) {
            picked.pop();
        }
        picked
    }

    /// Returns the choices of the next run, if all are to be tried.
    pub(super) fn next(&self) -> Option<Vec<usize>> {
        let last = self
            .made
            .iter()
            .rposition(|(chosen, of)| chosen + 1 < *of)?;
        let mut next: Vec<usize> = self.made[..=last]
            .iter()
            .map(|(chosen, _)| *chosen)
            .collect();
        next[last] += 1;
        Some(next)
    }
}

/// Mostly the first, so that what happens is spread over the whole run.
fn by_chance(generator: &mut Xoshiro256PlusPlus, of: usize) -> usize {
    let number = generator.next_u64();
    if number % 3 < 2 {
        return 0;
    }
    usize::try_from((number >> 8) % (of as u64)).unwrap_or(0)
}
