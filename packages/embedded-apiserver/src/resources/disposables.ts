/** Resources that are disposed together, last one first. Replaces `DisposableStack`, which Node.js 22 does not have. */
export class Disposables implements Disposable {
  readonly #held: Disposable[] = [];
  #isDisposed = false;

  /** Adds a resource. @returns the resource @throws Error after {@link Disposables.dispose} */
  use<T extends Disposable>(resource: T): T {
    if (this.#isDisposed) throw new Error("add a resource: the others are already disposed");
    this.#held.push(resource);
    return resource;
  }

  /** Adds a callback that is called once. @throws Error after {@link Disposables.dispose} */
  defer(onDispose: () => void): void {
    this.use({ [Symbol.dispose]: onDispose });
  }

  /**
   * Disposes all resources even if some of them throw; does nothing the second time.
   *
   * @throws the error of the only resource that failed, or an AggregateError
   */
  dispose(): void {
    this.#isDisposed = true;
    const errors: unknown[] = [];
    for (const resource of this.#held.splice(0).reverse()) {
      try {
        resource[Symbol.dispose]();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} resources could not be disposed`);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
