import { LabelledCells } from "./labelled-cells.ts";

/** Total of what was counted with the same labels. */
interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

/** Counter with cheap additions. prom-client's own makes a text of the labels, and a copy of them, at each. */
export class CounterCells {
  readonly #name: string;
  readonly #cells: LabelledCells<Cell>;

  constructor(name: string, labelNames: readonly string[]) {
    this.#name = name;
    this.#cells = new LabelledCells(name, labelNames, (labels) => ({ labels, value: 0 }));
  }

  /** @throws TypeError if the labels have other names than the counter's, or the value is negative or not a number */
  add(labels: Readonly<Record<string, string>>, value: number): void {
    if (!Number.isFinite(value) || value < 0) throw new TypeError(`${this.#name}: ${value} cannot be added to a counter`);
    this.#cells.at(labels).value += value;
  }

  /** A sample for each set of labels, in the format of prom-client's registry. */
  lines(): readonly Readonly<Cell>[] {
    return this.#cells.all;
  }
}
