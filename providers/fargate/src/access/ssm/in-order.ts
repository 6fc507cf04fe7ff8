/** Maximum of messages that are kept until an earlier one arrives. Source: aws/session-manager-plugin src/config/config.go. */
const maxKept = 10_000;

/** Puts messages in order. A message that comes twice is dropped. */
export class InOrder<Message extends { readonly sequence: number }> {
  readonly #kept = new Map<number, Message>();
  #expected = 0;

  /**
   * Takes a message.
   *
   * @returns messages that are complete up to here, in order; `undefined` if the message is old, or there is no room to keep it, so that it is not
   * to be acknowledged
   */
  take(message: Message): readonly Message[] | undefined {
    if (message.sequence < this.#expected) return undefined;
    if (message.sequence > this.#expected) {
      if (this.#kept.size >= maxKept) return undefined;
      this.#kept.set(message.sequence, message);
      return [];
    }
    const ready: Message[] = [];
    for (let next: Message | undefined = message; next; next = this.#kept.get(this.#expected)) {
      ready.push(next);
      this.#kept.delete(this.#expected);
      this.#expected++;
    }
    return ready;
  }
}
