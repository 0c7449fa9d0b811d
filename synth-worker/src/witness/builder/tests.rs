//! The builder against bellperson's own, and circuits that do not keep to their shape.

use bellperson::util_cs::witness_cs::WitnessCS;

use super::*;
use crate::witness::check;

/// Squares a number `links` times; the last half in parts that are synthesized apart where the system allows it.
#[derive(Clone)]
struct Squares {
    x: Option<u64>,
    links: usize,
    fails_with: Option<fn() -> SynthesisError>,
}

impl Squares {
    const fn of(x: u64, links: usize) -> Self {
        Self {
            x: Some(x),
            links,
            fails_with: None,
        }
    }

    fn shape(links: usize) -> Shape {
        Shape::record(Self {
            x: None,
            ..Self::of(0, links)
        })
        .unwrap()
    }
}

fn link<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    value: Option<Scalar>,
) -> Result<(), SynthesisError> {
    let get = |value: Option<Scalar>| value.ok_or(SynthesisError::AssignmentMissing);
    let x = cs.alloc(|| "x", || get(value))?;
    let square = cs.alloc_input(|| "square", || get(value.map(|x| x.square())))?;
    cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
    Ok(())
}

impl Circuit<Scalar> for Squares {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        if let Some(fails_with) = self.fails_with {
            return Err(fails_with());
        }
        for index in 0..self.links {
            let value = self.x.map(|x| Scalar::from(x + index as u64));
            if CS::is_extensible() && index >= self.links / 2 {
                let mut apart = CS::new();
                link(&mut apart, value)?;
                cs.extend(&apart);
            } else {
                link(cs, value)?;
            }
        }
        Ok(())
    }
}

#[test]
fn values_are_those_of_bellperson() {
    let built = build(Squares::of(3, 7), &Squares::shape(7)).unwrap();
    let mut reference = WitnessCS::<Scalar>::new();
    Squares::of(3, 7).synthesize(&mut reference).unwrap();
    assert_eq!(built.input, reference.scalar_inputs());
    assert_eq!(built.aux, reference.scalar_aux());
    check(&Squares::shape(7), &built, 0).unwrap();
}

#[test]
fn a_circuit_that_outgrows_its_shape_is_stopped() {
    for links in [8, 15] {
        let refused = build(Squares::of(3, links), &Squares::shape(7));
        assert!(
            matches!(refused, Err(CircuitError::Inconsistent { .. })),
            "{links}"
        );
    }
    let endless = build(Squares::of(3, usize::MAX), &Squares::shape(7));
    assert!(matches!(endless, Err(CircuitError::Inconsistent { .. })));
}

#[test]
fn a_circuit_that_stays_below_its_shape_is_refused() {
    let refused = build(Squares::of(3, 6), &Squares::shape(7));
    assert!(matches!(refused, Err(CircuitError::Inconsistent { .. })));
}

#[test]
fn a_circuit_that_fails_says_whose_fault_it_is() {
    let failing = |fails_with: fn() -> SynthesisError| {
        let circuit = Squares {
            fails_with: Some(fails_with),
            ..Squares::of(3, 7)
        };
        build(circuit, &Squares::shape(7)).unwrap_err()
    };
    assert!(matches!(
        failing(|| SynthesisError::DivisionByZero),
        CircuitError::Unsatisfiable { .. }
    ));
    assert!(matches!(
        failing(|| SynthesisError::AssignmentMissing),
        CircuitError::Synthesis { .. }
    ));
}

#[test]
fn a_changed_value_is_named_by_its_constraint() {
    let shape = Squares::shape(7);
    let honest = build(Squares::of(3, 7), &shape).unwrap();
    for changed in [0, 4, 6] {
        let mut assignment = honest.clone();
        assignment.aux[changed] += Scalar::ONE;
        let refused = check(&shape, &assignment, 5).unwrap_err();
        let named = CircuitError::UnsatisfiedConstraint {
            partition: 5,
            constraint: changed,
        };
        assert_eq!(refused, named);
    }
}
