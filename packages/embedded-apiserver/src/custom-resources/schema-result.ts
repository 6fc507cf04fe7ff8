import type { FieldError } from "../kinds/kind.ts";

/**
 * What the validation of a value against a schema has found.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate/result.go, `Result`.
 */
export class SchemaResult {
  readonly errors: FieldError[] = [];
  #reported: Set<string> | undefined;
  /** Number of checks that were made and passed. Of several alternatives, the errors of the one with the most are reported. */
  matches = 0;

  get isValid(): boolean {
    return this.errors.length === 0;
  }

  /** Adds errors, each once. */
  add(...errors: readonly FieldError[]): void {
    for (const error of errors) {
      const text = `${error.field}: ${error.message}`;
      this.#reported ??= new Set();
      if (this.#reported.has(text)) continue;
      this.#reported.add(text);
      this.errors.push(error);
    }
  }

  merge({ errors, matches }: SchemaResult): void {
    this.add(...errors);
    this.matches += matches;
  }
}
