import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateRequests } from "../parity/support/certificate-requests.ts";
import { findKubectls, Kubectl } from "../support/kubectl.ts";

const kubectls = await findKubectls();

/** Rights, certificates and custom resources, through kubectl. */
describe.each(kubectls)("kubectl $version", ({ program }) => {
  let server: ApiServer;
  let folder: string;
  let kubectl: Kubectl;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "vk-access-"));
    server = await startApiServer();
    await server.writeKubeconfig(join(folder, "kubeconfig"));
    kubectl = new Kubectl(program, folder);
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  test("roles are created and shown, and auth can-i reports their rights", async () => {
    expect((await kubectl.try("auth can-i list pods --as jane")).stdout).toBe("no\n");
    await kubectl.print("create role reader --verb=get,list --resource=pods");
    await kubectl.print("create rolebinding reader --role=reader --user=jane");
    expect(await kubectl.print("auth can-i list pods --as jane")).toBe("yes\n");
    expect((await kubectl.try("auth can-i delete pods --as jane")).stdout).toBe("no\n");
    expect(await kubectl.print("auth can-i --list --as jane")).toMatch(/^pods +\[\] +\[\] +\[get list\]$/m);
    expect(await kubectl.print("get pods --as jane")).toBe("");
    const { stderr } = await kubectl.try("get secrets --as jane");
    expect(stderr).toContain('secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default"');
    expect(await kubectl.print("describe rolebinding reader")).toMatch(/Kind: +Role\n +Name: +reader\n/);
    expect(await kubectl.print("get rolebinding reader -o wide")).toMatch(/^reader +Role\/reader +\S+ +jane/m);
    expect(await kubectl.print("get clusterroles")).toMatch(/^system:node +\d{4}-/m);
  });

  test("auth whoami shows the user", async () => {
    const { stdout, stderr } = await kubectl.try("auth whoami --as jane --as-group developers");
    if (stderr.includes("unknown command") || stderr.includes("alpha")) return;
    expect(stdout).toMatch(/^Username +jane$/m);
    expect(stdout).toMatch(/^Groups +\[developers system:authenticated\]$/m);
  });

  test("certificates are approved and denied", async () => {
    const csr = (name: string): string =>
      JSON.stringify({
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec: {
          request: Buffer.from(certificateRequests.client).toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      });
    for (const name of ["good", "bad"]) await kubectl.print("create -f -", csr(name));
    expect(await kubectl.print("certificate approve good")).toContain("good approved");
    expect(await kubectl.print("certificate deny bad")).toContain("bad denied");
    await eventually(async () => expect(await kubectl.print("get csr")).toMatch(/^good .*Approved,Issued$/m));
    expect(await kubectl.print("get csr")).toMatch(/^bad .*Denied$/m);
  });

  test("custom resources can be defined, applied, shown, explained, scaled and deleted", async () => {
    const properties = {
      spec: { type: "object", description: "What it is like.", properties: { size: { type: "integer" }, replicas: { type: "integer" } } },
    };
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget", shortNames: ["wg"] },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties } },
            subresources: { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
            additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
          },
        ],
      },
    };
    const widget = (size: number): string =>
      JSON.stringify({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" }, spec: { size } });
    await kubectl.print("apply -f -", JSON.stringify(definition));
    await kubectl.print("wait --for=condition=Established crd/widgets.example.com --timeout=60s");
    expect(await kubectl.print("apply -f -", widget(1))).toBe("widget.example.com/a created\n");
    expect(await kubectl.print("apply -f -", widget(2))).toBe("widget.example.com/a configured\n");
    expect(await kubectl.print("get wg")).toMatch(/^NAME +SIZE\na +2\n$/);
    expect(await kubectl.print("explain widgets.spec")).toContain("What it is like.");
    expect(await kubectl.print("scale widget a --replicas=3")).toContain("scaled");
    expect(await kubectl.print("get widget a -o jsonpath={.spec.replicas}")).toBe("3");
    expect(await kubectl.print("api-resources --api-group=example.com")).toMatch(/^widgets +wg +example.com\/v1 +true +Widget$/m);
    await kubectl.print("delete crd widgets.example.com");
    expect((await kubectl.try("get widgets")).code).not.toBe(0);
  });

  test("kinds without a controller are created and shown", async () => {
    await kubectl.print("create ingress web --rule=example.com/=web:80");
    expect(await kubectl.print("get ingress")).toMatch(/^web +<none> +example.com +80 /m);
    await kubectl.print("create priorityclass high --value=100");
    expect(await kubectl.print("get priorityclasses")).toMatch(/^system-node-critical +2000001000 +false /m);
    await kubectl.print("create quota q --hard=pods=1");
    expect(await kubectl.print("describe ingress web")).toContain("example.com");
  });
});
