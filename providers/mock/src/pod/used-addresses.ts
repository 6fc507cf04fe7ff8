/** IPv4 addresses that pods have, as unsigned numbers. An address that several pods have is in use until the last of them has ended. */
export class UsedAddresses {
  readonly #pods = new Map<number, number>();

  /** Whether a pod has the address. */
  has(address: number): boolean {
    return this.#pods.has(address);
  }

  /** Notes that one more pod has the address. */
  claim(address: number): void {
    this.#pods.set(address, (this.#pods.get(address) ?? 0) + 1);
  }

  /** Notes that one of the pods with the address has ended. */
  release(address: number): void {
    const others = (this.#pods.get(address) ?? 0) - 1;
    if (others > 0) this.#pods.set(address, others);
    else this.#pods.delete(address);
  }
}
