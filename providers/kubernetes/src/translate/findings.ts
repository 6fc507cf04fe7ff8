import { UnsupportedError } from "@virtual-kubelet/errdefs";

/** Something that the far pod lacks, or has in another form, for people to read. */
export interface FieldNote {
  /** Path in the home pod, such as `spec.priorityClassName`. */
  readonly fieldPath: string;
  /** What was done and what to set if it should be different. */
  readonly message: string;
}

/** What a translation finds: fields that cannot travel, and fields that travel differently. */
export class Findings {
  readonly #notes: FieldNote[] = [];
  readonly #refused: FieldNote[] = [];

  /** The field is left out or changed. */
  note(fieldPath: string, message: string): void {
    this.#notes.push({ fieldPath, message });
  }

  /** The pod cannot run in the far cluster because of the field. */
  refuse(fieldPath: string, message: string): void {
    this.#refused.push({ fieldPath, message });
  }

  get notes(): readonly FieldNote[] {
    return this.#notes;
  }

  get refused(): readonly FieldNote[] {
    return this.#refused;
  }

  /** @throws UnsupportedError that names the first refused field, and the paths of the others */
  throwRefused(): void {
    const [first, ...others] = this.#refused;
    if (!first) return;
    const rest = others.length === 0 ? "" : `; also ${others.map(({ fieldPath }) => fieldPath).join(", ")}`;
    throw new UnsupportedError(`${first.fieldPath}: ${first.message}${rest}`, { fieldPath: first.fieldPath });
  }
}
