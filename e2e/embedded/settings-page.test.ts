import { VirtualClock } from "@virtual-kubelet/clock";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../packages/cli/src/cli.ts";
import { testContext } from "../../packages/cli/src/test-support/test-context.ts";

/** The example of the page, in a folder with the files that it names. */
async function exampleFolder(folder: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, "../../docs/guides/settings.md"), "utf8");
  const [, example = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const authority = createCertificateAuthority("kubelet");
  const serving = authority.issue({ commonName: "virtual-kubelet", usages: ["server auth"] });
  const clusters = [{ name: "c", cluster: { server: "https://192.0.2.1:6443" } }];
  const users = [{ name: "u", user: { token: "token" } }];
  const contexts = [{ name: "admin", context: { cluster: "c", user: "u" } }];
  const files = {
    "vk.yaml": example,
    kubeconfig: JSON.stringify({ clusters, users, contexts }),
    "pki/client-ca.crt": authority.certificate,
    "pki/kubelet.crt": serving.certificate,
    "pki/kubelet.key": serving.key,
    "mock.toml": 'pods = "500"\n',
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text, { mode: 0o600 });
  }
  return example;
}

async function validate(folder: string): Promise<{ code: number; out: string; err: string }> {
  const context = testContext(new VirtualClock(), { cwd: folder, homeDir: folder });
  const code = await runProgram(["config", "validate", "--config", "vk.yaml"], context);
  return { code, out: context.stdout.text, err: context.stderr.text };
}

test("the complete file of the page of settings passes config validate", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "vk-settings-"));
  await exampleFolder(folder.path);
  const { code, out, err } = await validate(folder.path);
  // A port in use is a warning, because it may be used by this node's own program.
  expect({ code, out, err: err.split("\n").filter((line) => line !== "" && !line.includes("in use")) }).toEqual({
    code: 0,
    out: "configuration is valid: node virtual-kubelet (mock)\n",
    err: [],
  });
});

test("the file's other way to configure the provider passes as well", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "vk-settings-"));
  const example = await exampleFolder(folder.path);
  const other = example.replace(/ +providerConfig:\n +pods: .*\n/, "").replace("# providerConfigFile:", "providerConfigFile:");
  await writeFile(join(folder.path, "vk.yaml"), other);
  expect(other).not.toBe(example);
  expect(await validate(folder.path)).toMatchObject({ code: 0, out: "configuration is valid: node virtual-kubelet (mock)\n" });
});
