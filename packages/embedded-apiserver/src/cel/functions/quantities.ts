import { compareQuantities, parseQuantity, tryParseQuantity, quantityProblem, type Quantity } from "@virtual-kubelet/kubernetes";
import { declare, type FunctionPart } from "../signatures.ts";
import { EvaluationError, Opaque, type Value } from "../values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/library/quantity.go and semverlib.go. */

const billion = 1_000_000_000n;

/** An amount such as `1.5Gi`. */
class QuantityValue extends Opaque {
  readonly typeName = "kubernetes.Quantity";
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  override equals(other: Value): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

const quantityOf = (value: Value | undefined): Quantity => (value as QuantityValue).quantity;
const compare = (a: Value | undefined, b: Value | undefined): number => Math.sign(compareQuantities(quantityOf(a), quantityOf(b)));

function parse(text: Value): QuantityValue {
  const problem = quantityProblem(text);
  if (problem !== undefined) throw new EvaluationError(problem);
  return new QuantityValue(parseQuantity(String(text)));
}

function isWhole({ nano }: Quantity): boolean {
  return nano % billion === 0n && BigInt.asIntN(64, nano / billion) === nano / billion;
}

function asInteger(value: Value): bigint {
  const quantity = quantityOf(value);
  if (!isWhole(quantity)) throw new EvaluationError("cannot convert value to integer");
  return quantity.nano / billion;
}

function shifted(a: Value, b: Value, sign: 1n | -1n): QuantityValue {
  const { nano, format } = quantityOf(a);
  return new QuantityValue({ nano: nano + sign * (typeof b === "bigint" ? b * billion : quantityOf(b).nano), format });
}

export const quantityFunctions: readonly FunctionPart[] = [
  declare("quantity", ["string_to_quantity (string) -> Quantity"], parse),
  declare("isQuantity", ["is_quantity_string (string) -> bool"], (text) => tryParseQuantity(text) !== undefined),
  declare("sign", ["quantity_sign Quantity.() -> int"], (value) => BigInt(Math.sign(Number(quantityOf(value).nano)))),
  declare("isGreaterThan", ["quantity_is_greater_than Quantity.(Quantity) -> bool"], (a, b) => compare(a, b) > 0),
  declare("isLessThan", ["quantity_is_less_than Quantity.(Quantity) -> bool"], (a, b) => compare(a, b) < 0),
  declare("compareTo", ["quantity_compare_to Quantity.(Quantity) -> int"], (a, b) => BigInt(compare(a, b))),
  declare("asApproximateFloat", ["quantity_get_float Quantity.() -> double"], (value) => Number(quantityOf(value).nano) / 1e9),
  declare("asInteger", ["quantity_get_int Quantity.() -> int"], asInteger),
  declare("isInteger", ["quantity_is_integer Quantity.() -> bool"], (value) => isWhole(quantityOf(value))),
  declare("add", ["quantity_add Quantity.(Quantity) -> Quantity", "quantity_add_int Quantity.(int) -> Quantity"], (a, b) =>
    shifted(a ?? null, b ?? null, 1n),
  ),
  declare("sub", ["quantity_sub Quantity.(Quantity) -> Quantity", "quantity_sub_int Quantity.(int) -> Quantity"], (a, b) =>
    shifted(a ?? null, b ?? null, -1n),
  ),
];
