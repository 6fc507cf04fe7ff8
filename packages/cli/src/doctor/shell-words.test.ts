import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import { loadSettings } from "../config/load-settings.ts";
import { testContext } from "../test-support/test-context.ts";
import { kubectlCommand, ownCommand } from "./shell-words.ts";

async function kubectl(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const context = testContext(new VirtualClock(), { env });
  return kubectlCommand("config view", await loadSettings(parseFlags("doctor", ["--provider", "mock", ...words]), context));
}

test("kubectl gets the kubeconfig and the context of the settings, in quotes if need be", async () => {
  expect(await kubectl(["--kubeconfig", "a b", "--context", "c"])).toBe("kubectl config view --kubeconfig '/nowhere/a b' --context c");
});

test("kubectl reads KUBECONFIG itself", async () => {
  expect(await kubectl([], { KUBECONFIG: "/a:/b" })).toBe("kubectl config view");
});

test("a flag that a command sets is not repeated, because the last one counts", () => {
  const line = parseFlags("doctor", ["--provider", "mock", "--node-ip", "127.0.0.1"]);

  expect(ownCommand(line, "run", ["--node-ip 192.0.2.1"])).toBe("virtual-kubelet run --node-ip 192.0.2.1 --provider mock");
});
