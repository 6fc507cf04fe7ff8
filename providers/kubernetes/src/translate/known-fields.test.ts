import { startApiServer, type OpenApiSchema } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { containerFields, ephemeralContainerFields } from "./far-container.ts";
import { podSpecFields } from "./far-spec.ts";
import { projectionFields, volumeFields } from "./far-volumes.ts";

// The compiler compares the tables with the types of client-node. This compares them with what the API of Kubernetes says of itself.
test.each([
  ["PodSpec", podSpecFields],
  ["Container", containerFields],
  ["EphemeralContainer", ephemeralContainerFields],
  ["Volume", volumeFields],
  ["VolumeProjection", projectionFields],
])("every field of %s has a rule, and no rule is for a field that does not exist", async (type, table) => {
  await using server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true });
  const client = createKubeClient(server.transport());
  const document = await client.raw("GET", "/openapi/v3/api/v1", undefined, { signal: new AbortController().signal });
  const { schemas } = (document as { readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> } }).components;

  expect(Object.keys(table).sort()).toEqual(Object.keys(schemas[`io.k8s.api.core.v1.${type}`]?.properties ?? {}).sort());
});
