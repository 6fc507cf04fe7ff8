import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { exitCodes } from "virtual-kubelet";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { ProgramRig } from "./support/program-rig.ts";
import { pem, providerOf, upstreamCommandLines, type UpstreamCommandLine } from "./support/upstream-command-lines.ts";

let rig: ProgramRig;

beforeAll(async () => {
  rig = await ProgramRig.open();
  const authority = createCertificateAuthority("upstream-ca");
  const issued = authority.issue({ commonName: "vk", names: ["10.1.2.3"], usages: ["server auth"] });
  const contents: Readonly<Record<string, string>> = {
    [pem.certificate]: issued.certificate,
    [pem.key]: issued.key,
    [pem.authority]: authority.certificate,
  };
  // Clouds' providers are installed beside the program by those who use them.
  const scope = join(rig.folder, "node_modules/@virtual-kubelet");
  await mkdir(scope, { recursive: true });
  for (const name of ["aci", "fargate"])
    await symlink(join(import.meta.dirname, `../../providers/${name}`), join(scope, `provider-${name}`));
  for (const { files = {} } of upstreamCommandLines) {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(rig.folder, path)), { recursive: true });
      await writeFile(join(rig.folder, path), contents[content] ?? content, { mode: 0o600 });
    }
  }
});

afterAll(() => rig[Symbol.asyncDispose]());

/** The container's files are in the test's folder. */
function placed({ files = {} }: UpstreamCommandLine, word: string): string {
  return word in files && word.startsWith("/") ? join(rig.folder, word) : word;
}

/** Settings that the chart takes from a secret, or from a file of AKS. */
const azureAccount = {
  AZURE_SUBSCRIPTION_ID: "00000000-0000-0000-0000-000000000001",
  AZURE_TENANT_ID: "00000000-0000-0000-0000-000000000002",
  AZURE_CLIENT_ID: "00000000-0000-0000-0000-000000000003",
  AZURE_CLIENT_SECRET: "secret",
  ACI_RESOURCE_GROUP: "pods",
  ACI_REGION: "westeurope",
};

/** Runs the words as they stand, with the kubeconfig in place of the pod's service account. */
async function run(
  line: UpstreamCommandLine,
  before: readonly string[],
  after: readonly string[] = [],
): Promise<Program & { code: number | string }> {
  const network = "ACI_SUBNET_NAME" in line.env && { ACI_VNET_NAME: "pods" };
  const all = providerOf(line) === "azure" ? { ...azureAccount, ...network, ...line.env } : line.env;
  const env = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, placed(line, value)]));
  const words = [...before, ...line.words.map((word) => placed(line, word)), ...after];
  const program = new Program(words, { cwd: rig.folder, env: { ...env, KUBECONFIG: "kubeconfig" } });
  return Object.assign(program, { code: await program.exit });
}

const withMock = (line: UpstreamCommandLine): UpstreamCommandLine => ({
  ...line,
  words: line.words.map((word, index) => (line.words[index - 1] === "--provider" ? "mock" : word)),
});

const builtIn = ["mock", "nomad", "openstack", "azure", "aws"];
const supported = upstreamCommandLines.filter((line) => builtIn.includes(providerOf(line)));
const others = upstreamCommandLines.filter((line) => !builtIn.includes(providerOf(line)));

test.for(supported)("$name: config validate accepts the command line unchanged", async (line) => {
  await using program = await run(line, ["config", "validate"]);

  expect({ code: program.code, stdout: program.stdout, stderr: program.stderr }).toMatchObject({
    code: exitCodes.ok.code,
    stdout: expect.stringContaining("configuration is valid"),
  });
});

test.for([...supported.filter((line) => providerOf(line) === "mock"), ...others.map(withMock)])(
  "$name: a dry run accepts the flags and variables, without a command and with --dry-run at the end",
  async (line) => {
    await using program = await run(line, [], ["--dry-run"]);

    expect({ code: program.code, stderr: program.stderr }).toMatchObject({ code: exitCodes.ok.code });
    expect(program.stdout).toContain("Dry run: nothing is changed.");
    const obsolete = ["namespace", "trace-exporter", "klog.v", "no-verify-clients"].map((name) => `--${name}`);
    for (const flag of obsolete.filter((flag) => line.words.some((word) => word.split("=")[0] === flag)))
      expect(program.stderr).toContain(`virtual-kubelet: ${flag} has no effect: `);
  },
);

test.for(others)("$name: the error names the provider and those that exist", async (line) => {
  await using program = await run(line, ["config", "validate"]);

  expect(program.code).toBe(exitCodes.config.code);
  expect(program.stderr).toContain(
    `--provider: "${providerOf(line)}": expected a built-in provider (aci, azure, docker, fargate, aws, ecs, kubernetes, cluster, mock, `,
  );
});

test("the provider of a cloud whose package is not installed is one error, which says how to install it", async () => {
  await using program = new Program(["config", "validate", "--provider", "ecs"], { cwd: tmpdir(), env: {} });

  expect(await program.exit).toBe(exitCodes.config.code);
  expect(program.stderr).toContain(
    '--provider: "fargate": @virtual-kubelet/provider-fargate is not installed here; npm install @virtual-kubelet/provider-fargate',
  );
});

test("the taint of a former variable's name is the node's", async () => {
  const line = upstreamCommandLines.find(({ name }) => name === "HashiCorp Nomad");
  if (!line) throw new Error("there is no command line of Nomad");
  await using program = await run(line, ["config", "print"]);

  expect(program.stdout).toContain("key: hashicorp.com/nomad # $VK_TAINT_KEY");
});
