import { Refusal } from "../server/refusal.ts";

/** Bounds how many logs, commands and forwards are open at once, whoever asks. */
export class StreamSlots {
  readonly #max: number;
  #used = 0;

  /** @param max - how many at once */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot. @returns what frees it @throws Refusal 503 if all are taken */
  take(): Disposable {
    if (this.#used >= this.#max)
      throw new Refusal(503, `too many streams are open, at most ${this.#max}`, { headers: { "retry-after": "5" } });
    this.#used++;
    let isFree = false;
    return {
      [Symbol.dispose]: () => {
        if (!isFree) this.#used--;
        isFree = true;
      },
    };
  }
}
