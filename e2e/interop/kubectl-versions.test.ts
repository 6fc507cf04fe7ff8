import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveTcp } from "../embedded/support/streaming-rig.ts";
import { findKubectls } from "../support/kubectl.ts";
import { forwardedPorts } from "./support/forwarded-ports.ts";
import { InteropRig, startTimeoutMs } from "./support/rig.ts";

const kubectls = await findKubectls();

describe("a kubectl of each version", () => {
  let rig: InteropRig;
  let pod: string;

  beforeAll(async () => {
    rig = await InteropRig.open("versions");
    const node = await rig.startNode({ declared: true });
    pod = await node.run({ command: ["sh", "-c", "echo said; exec sleep 3600"] });
  }, startTimeoutMs);
  afterAll(() => rig[Symbol.asyncDispose](), startTimeoutMs);

  test.for(kubectls)("$version prints logs, runs commands, copies and forwards", async ({ program, version }) => {
    const client = rig.kubectl(program);

    expect(await client.run(["logs", pod])).toMatchObject({ code: 0, stdout: "said\n" });
    expect(await client.run(["exec", "-i", pod, "--", "sh", "-c", "cat; exit 3"], "typed")).toMatchObject({ code: 3, stdout: "typed" });

    const [from, to, back] = ["from", "to", "back"].map((name) => join(rig.cluster.directory, `${name}-${version}`)) as [
      string,
      string,
      string,
    ];
    await writeFile(from, version);
    expect(await client.run(["cp", from, `${pod}:${to}`])).toMatchObject({ code: 0 });
    expect(await client.run(["cp", `${pod}:${to}`, back])).toMatchObject({ code: 0 });
    expect(await readFile(back, "utf8")).toBe(version);

    await using echo = await serveTcp((socket) => void pipeline(socket, socket).catch(() => undefined));
    const { child, output, ended } = client.start("port-forward", pod, `:${echo.port}`);
    const local = (await forwardedPorts(output, 1)).get(echo.port) ?? 0;
    const socket = connect({ port: local, host: "127.0.0.1", allowHalfOpen: true }).setEncoding("utf8");
    socket.end("through");
    expect((await socket.toArray()).join("")).toBe("through");
    child.kill("SIGKILL");
    await ended;
  });
});
