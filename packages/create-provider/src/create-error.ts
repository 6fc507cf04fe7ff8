/** Nothing was written; the message says why, and what to do. */
export class CreateError extends Error {
  /** @param message - one line */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
