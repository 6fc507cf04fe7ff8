import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toKubeconfig, writePrivateFile } from "./kubeconfig.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("a kubeconfig has the server's URL, its authority and the token", () => {
  const config = JSON.parse(toKubeconfig({ server: "https://127.0.0.1:1", caPem: "PEM", credentials: { token: "t" }, name: "x" }));

  expect(config).toMatchObject({
    kind: "Config",
    "current-context": "x",
    clusters: [{ name: "x", cluster: { server: "https://127.0.0.1:1", "certificate-authority-data": base64("PEM") } }],
    users: [{ name: "x", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
  });
});

test("a kubeconfig may hold a client certificate", () => {
  const credentials = { certificate: "CERT", key: "KEY" };
  const config = JSON.parse(toKubeconfig({ server: "https://127.0.0.1:1", caPem: "PEM", credentials, name: "x" }));

  expect(config.users).toEqual([{ name: "x", user: { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") } }]);
});

test("a private file is readable by its owner only, even if it replaces a file that others could read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  try {
    const [fresh, old] = [join(folder, "fresh"), join(folder, "old")];
    await writeFile(old, "what was there before, and longer");
    await chmod(old, 0o644);

    for (const path of [fresh, old]) await writePrivateFile(path, "secret");

    for (const path of [fresh, old]) {
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readFile(path, "utf8")).toBe("secret");
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
