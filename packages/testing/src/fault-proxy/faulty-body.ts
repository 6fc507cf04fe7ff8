import type { Clock } from "@virtual-kubelet/clock";
import type { ServerResponse } from "node:http";
import { statusObject, type BodyFault, type CutOff } from "./faults.ts";

const newline = 0x0a;

/**
 * Forwards a response's body to the client with a fault, which may also be applied while the body is being sent.
 */
export class FaultyBody {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #reset: () => void;
  #fault: BodyFault | undefined;
  #linesLeft = 0;
  #bytesLeft = 0;
  /** Whether nothing more is sent, because the body is silent or cut off. */
  #over = false;

  constructor(response: ServerResponse, options: { readonly clock: Clock; readonly reset: () => void }) {
    this.#response = response;
    this.#clock = options.clock;
    this.#reset = options.reset;
  }

  /** Applies the fault from here on. */
  apply(fault: BodyFault): void {
    this.#fault = fault;
    this.#linesLeft = "afterLines" in fault ? (fault.afterLines ?? 0) : 0;
    this.#bytesLeft = fault.kind === "truncate" ? fault.afterBytes : 0;
    // Faults that need no further byte apply at once.
    if (fault.kind === "truncate" && this.#bytesLeft === 0) this.#end(fault.cutOff);
    else if (this.#linesLeft === 0) this.#afterLines();
  }

  /** Returns when the client has received its part of the chunk. */
  async pass(chunk: Buffer): Promise<void> {
    const fault = this.#fault;
    if (this.#over) return;
    if (fault === undefined) return await this.#send(chunk);
    if (fault.kind === "drip") return await this.#drip(chunk, fault);
    if (fault.kind === "truncate") return await this.#truncate(chunk, fault);
    await this.#passLines(chunk, fault);
  }

  /** Called when the API server's body has ended. */
  end(): void {
    if (!this.#over) this.#response.end();
  }

  async #passLines(chunk: Buffer, fault: BodyFault): Promise<void> {
    let start = 0;
    while (this.#linesLeft > 0 && start < chunk.length) {
      const end = chunk.indexOf(newline, start);
      if (end < 0) break;
      await this.#send(chunk.subarray(start, end + 1));
      start = end + 1;
      if (--this.#linesLeft === 0) this.#afterLines();
    }
    const rest = chunk.subarray(start);
    if (rest.length === 0 || this.#over) return;
    if (fault.kind !== "cut-line" || this.#linesLeft > 0) return await this.#send(rest);
    const end = rest.indexOf(newline);
    const line = end < 0 ? rest : rest.subarray(0, end);
    await this.#send(line.subarray(0, Math.ceil(line.length / 2)));
    this.#end(fault.cutOff);
  }

  /** Applies a fault between two lines. */
  #afterLines(): void {
    const fault = this.#fault;
    switch (fault?.kind) {
      case "silence":
        this.#over = true;
        break;
      case "garbage":
        this.#fault = undefined;
        this.#response.write('{"type":"MODIFIED","object":{"broken\n');
        break;
      case "error-event":
        this.#response.write(`${JSON.stringify({ type: "ERROR", object: statusObject({ status: fault.code }) })}\n`);
        this.#over = true;
        if (fault.cutOff !== undefined) this.#end(fault.cutOff);
        break;
      case "cut-line":
      case "truncate":
      case "drip":
      case undefined:
        break;
    }
  }

  async #truncate(chunk: Buffer, fault: BodyFault & { readonly kind: "truncate" }): Promise<void> {
    const part = chunk.subarray(0, this.#bytesLeft);
    this.#bytesLeft -= part.length;
    await this.#send(part);
    if (this.#bytesLeft === 0) this.#end(fault.cutOff);
  }

  async #drip(chunk: Buffer, fault: BodyFault & { readonly kind: "drip" }): Promise<void> {
    for (let start = 0; start < chunk.length; start += fault.bytes) {
      await this.#send(chunk.subarray(start, start + fault.bytes));
      await this.#clock.sleep(fault.everyMs);
      if (this.#response.destroyed) return;
    }
  }

  #end(cutOff: CutOff = "close"): void {
    this.#over = true;
    if (cutOff === "end") this.#response.end();
    else if (cutOff === "reset") this.#reset();
    // Data already written still reaches the client.
    else this.#response.socket?.destroySoon();
  }

  async #send(chunk: Buffer): Promise<void> {
    if (chunk.length === 0 || this.#response.destroyed) return;
    await new Promise<void>((resolve) => {
      const closed = (): void => resolve();
      this.#response.once("close", closed);
      this.#response.write(chunk, () => {
        this.#response.off("close", closed);
        resolve();
      });
    });
  }
}
