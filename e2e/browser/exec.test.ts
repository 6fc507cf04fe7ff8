import { freePort } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { ProgramRig } from "../embedded/support/program-rig.ts";
import { test } from "./support/browser-test.ts";

/** Runs in the page. A page cannot set headers of a WebSocket, so the token is one of the offered protocols. */
async function execInPage({ url, token }: { readonly url: string; readonly token: string }): Promise<{ protocol: string; stdout: string }> {
  const bearer = btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const socket = new WebSocket(url, [`base64url.bearer.authorization.k8s.io.${bearer}`, "v5.channel.k8s.io"]);
  socket.binaryType = "arraybuffer";
  let stdout = "";
  return await new Promise((resolve, reject) => {
    socket.addEventListener("error", () => reject(new Error("the WebSocket failed")));
    socket.addEventListener("close", () => resolve({ protocol: socket.protocol, stdout }));
    socket.addEventListener("message", ({ data }: { readonly data: ArrayBuffer }) => {
      const [channel, ...bytes] = new Uint8Array(data);
      if (channel === 1) stdout += new TextDecoder().decode(Uint8Array.from(bytes));
    });
  });
}

test("a page runs a command in a pod over the browser's own WebSocket, but only with a token", async ({ browser }) => {
  await using rig = await ProgramRig.open();
  const port = await freePort();
  const env = { KUBELET_PORT: String(port) };
  await using _program = rig.run("--provider mock --nodename vk-1 --node-ip 127.0.0.1", { env });
  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  await using opened = await browser.open();
  const url = `wss://127.0.0.1:${port}/exec/default/web/main?command=echo&command=hello&output=1`;

  // The node asks for a certificate, which Chromium can decline on behalf of a page only.
  const answer = await opened.page.goto(`https://127.0.0.1:${port}/healthz`);
  expect(answer?.status()).toBe(401);

  expect(await opened.page.evaluate(execInPage, { url, token: rig.server.token })).toEqual({
    protocol: "v5.channel.k8s.io",
    stdout: "hello\n",
  });
  await expect(opened.page.evaluate(execInPage, { url, token: "wrong" })).rejects.toThrow("the WebSocket failed");
  // The browser's message comes independently of the page's event.
  await expect.poll(() => opened.problems.at(-1)).toContain("HTTP Authentication failed");
});
