import { LinkedSignal } from "@virtual-kubelet/async";
import type { AttachIO } from "@virtual-kubelet/core";
import { Writable } from "node:stream";
import { requirePod } from "../routes/pod-lookup.ts";
import type { Handler } from "../routes/route.ts";
import { text } from "../server/answer.ts";
import { parseQuery } from "../server/query.ts";
import { Refusal } from "../server/refusal.ts";
import { audited, beginAudit } from "./audit.ts";
import { noResizes } from "./no-resizes.ts";
import { requireRunning, type StreamRoutesOptions } from "./remote-command.ts";

/** Maximum bytes of output that are kept; the rest is dropped. Source: CRI ExecSync, which keeps 16 MiB. */
const maxOutputBytes = 1024 * 1024;

/**
 * `/run`: runs a command, given in one parameter and split at single spaces, and answers with its output. The content type is the kubelet's
 * although the body is not JSON.
 */
export function runRoute(options: StreamRoutesOptions): Handler {
  return (request) => {
    const command = (parseQuery(request.query).first("cmd") ?? "").split(" ");
    return audited(beginAudit(request, { verb: "run", command }, options), async () => {
      if (command[0] === "") throw new Refusal(400, 'you must specify the command to run, as "cmd"');
      const found = requirePod(request, options.directory);
      const container = requireRunning(request, found, (name) => `container not found (${JSON.stringify(name)})`);
      using slot = options.slots.take(request, { isLog: false });
      using linked = new LinkedSignal(request.signal, slot.signal);
      const output = new CollectedOutput();
      const io: AttachIO = { stdin: undefined, stdout: output.stream(), stderr: output.stream(), tty: false, resizes: noResizes() };
      const { exitCode } = await found.node.access.runInContainer(found.ref, container.name, command, io, linked.signal);
      const result = `exit code ${exitCode}`;
      // Only the client gets this text: errors are logged, and arguments and output must not be.
      if (exitCode !== 0) return { result, value: text(`command '${command.join(" ")}' exited with ${exitCode}: ${output.text()}`, 500) };
      return { result, value: { status: 200, headers: { "content-type": "application/json" }, body: output.text() } };
    });
  };
}

/** Output of several streams, in order of arrival. */
class CollectedOutput {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  stream(): Writable {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const kept = chunk.subarray(0, maxOutputBytes - this.#bytes);
        this.#bytes += kept.length;
        if (kept.length > 0) this.#chunks.push(kept);
        done();
      },
    });
    // Without a listener, an error after the provider's call would end the process.
    return stream.on("error", () => {});
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
