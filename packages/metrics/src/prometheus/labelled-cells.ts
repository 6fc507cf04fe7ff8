type Labels = Readonly<Record<string, string>>;

/** Cells of the label values that begin alike. */
interface Branch<Cell> {
  readonly branches: Map<string, Branch<Cell>>;
  cell: Cell | undefined;
}

/** One cell for each set of label values. A look-up makes no text of the labels. */
export class LabelledCells<Cell> {
  readonly #name: string;
  readonly #labelNames: readonly string[];
  readonly #create: (labels: Labels) => Cell;
  readonly #root: Branch<Cell> = { branches: new Map(), cell: undefined };
  readonly #cells: Cell[] = [];
  /** The last look-up, because callers often pass the same labels object again. */
  #last: { readonly given: Labels; readonly values: readonly unknown[]; readonly cell: Cell } | undefined;

  /** @param create - returns the first state of a cell; the labels are a copy */
  constructor(name: string, labelNames: readonly string[], create: (labels: Labels) => Cell) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#create = create;
  }

  /** All cells, in the order of their creation. */
  get all(): readonly Cell[] {
    return this.#cells;
  }

  /** Returns the cell of the labels; creates it. @throws TypeError for a label that is not one of the metric's */
  at(given: Labels): Cell {
    // A caller may have changed the object meanwhile.
    if (this.#last?.given === given && this.#last.values.every((value, index) => value === given[this.#labelNames[index] ?? ""]))
      return this.#last.cell;
    for (const name in given) if (!this.#labelNames.includes(name)) throw new TypeError(`${this.#name}: there is no label ${name}`);
    const values = this.#labelNames.map((name) => given[name]);
    let branch = this.#root;
    for (const value of values) branch = childOf(branch, textOf(value));
    const cell = (branch.cell ??= this.#add(given));
    this.#last = { given, values, cell };
    return cell;
  }

  #add(given: Labels): Cell {
    const cell = this.#create(Object.fromEntries(Object.entries(given).map(([name, value]) => [name, textOf(value)])));
    this.#cells.push(cell);
    return cell;
  }
}

function childOf<Cell>({ branches }: Branch<Cell>, value: string): Branch<Cell> {
  let child = branches.get(value);
  if (!child) branches.set(value, (child = { branches: new Map(), cell: undefined }));
  return child;
}

/** Label values of providers without types may be numbers: two samples of one text would be refused. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : String(value ?? "");
}
