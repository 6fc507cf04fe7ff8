import { expect, test } from "vitest";
import { toKubeconfig } from "./kubeconfig.ts";

test("a kubeconfig leads to the server, with its authority and the token", () => {
  const config = JSON.parse(toKubeconfig({ server: "https://127.0.0.1:1", caPem: "PEM", token: "t", name: "x" }));

  expect(config).toMatchObject({
    kind: "Config",
    "current-context": "x",
    clusters: [
      { name: "x", cluster: { server: "https://127.0.0.1:1", "certificate-authority-data": Buffer.from("PEM").toString("base64") } },
    ],
    users: [{ name: "x", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
  });
});
