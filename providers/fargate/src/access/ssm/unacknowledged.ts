/** A message that the other side has not confirmed yet. */
interface SentMessage {
  readonly frame: Uint8Array;
  readonly sequence: number;
  sentMs: number;
  firstSentMs: number;
  attempts: number;
}

const firstTimeoutMs = 200;
const longestTimeoutMs = 1_000;
const clockGranularityMs = 10;
/** Attempts after which the other side counts as gone. Source: aws/session-manager-plugin src/config/config.go (ResendMaxAttempt). */
const maxAttempts = 3_000;

/**
 * Sent messages until they are acknowledged, with the time-out after which the oldest is sent again. The time-out follows the round-trip time.
 * Source: aws/session-manager-plugin src/datachannel/streaming.go (calculateRetransmissionTimeout).
 */
export class Unacknowledged {
  readonly #sent = new Map<number, SentMessage>();
  #roundTripMs: number | undefined;
  #variationMs = 0;

  /** Number of messages that are not acknowledged. */
  get size(): number {
    return this.#sent.size;
  }

  /** Milliseconds after which an unacknowledged message is sent again. */
  get timeoutMs(): number {
    if (this.#roundTripMs === undefined) return firstTimeoutMs;
    return Math.min(longestTimeoutMs, Math.max(firstTimeoutMs, this.#roundTripMs + Math.max(clockGranularityMs, 4 * this.#variationMs)));
  }

  /** Notes a message that was sent. */
  add(sequence: number, frame: Uint8Array, nowMs: number): void {
    this.#sent.set(sequence, { frame, sequence, sentMs: nowMs, firstSentMs: nowMs, attempts: 1 });
  }

  /** Removes a message. A repeated one says nothing of the round-trip time. */
  acknowledge(sequence: number, nowMs: number): void {
    const message = this.#sent.get(sequence);
    if (!message) return;
    this.#sent.delete(sequence);
    if (message.attempts > 1) return;
    const tripMs = nowMs - message.firstSentMs;
    if (this.#roundTripMs === undefined) {
      this.#roundTripMs = tripMs;
      this.#variationMs = tripMs / 2;
    } else {
      this.#variationMs = 0.75 * this.#variationMs + 0.25 * Math.abs(this.#roundTripMs - tripMs);
      this.#roundTripMs = 0.875 * this.#roundTripMs + 0.125 * tripMs;
    }
  }

  /** Returns the oldest message if it is to be sent again; `gone` if that was done too often. */
  due(nowMs: number): Uint8Array | "gone" | undefined {
    const [oldest] = [...this.#sent.values()].toSorted((a, b) => a.sequence - b.sequence);
    if (!oldest || nowMs - oldest.sentMs < this.timeoutMs) return undefined;
    if (oldest.attempts >= maxAttempts) return "gone";
    oldest.attempts++;
    oldest.sentMs = nowMs;
    return oldest.frame;
  }
}
