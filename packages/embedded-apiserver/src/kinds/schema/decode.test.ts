import { describe, expect, test } from "vitest";
import { decode } from "./decode.ts";

const pod = "io.k8s.api.core.v1.Pod";
const podWith = (spec: unknown, metadata: object = {}): unknown => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", ...metadata },
  spec,
});

describe("decode", () => {
  test("drops unknown fields, nulls and empty values, and names the unknown fields", () => {
    const value = podWith(
      { nodeName: "", y: 1, nodeSelector: {}, tolerations: null, containers: [{ name: "a", Image: "b", stdin: false }] },
      { x: 1, labels: {} },
    );

    const { object, unknownFields } = decode(pod, value);

    expect(object).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      spec: { containers: [{ name: "a", resources: {} }] },
      status: {},
    });
    expect(unknownFields).toEqual(["metadata.x", "spec.y", "spec.containers[0].Image"]);
  });

  test("keeps an empty value if the type distinguishes it from an absent one", () => {
    const { object } = decode(
      pod,
      podWith({ terminationGracePeriodSeconds: 0, enableServiceLinks: false, securityContext: {}, containers: [] }),
    );

    expect(object["spec"]).toEqual({ terminationGracePeriodSeconds: 0, enableServiceLinks: false, securityContext: {}, containers: [] });
  });

  test("writes quantities and times in their canonical form", () => {
    const { object } = decode(
      pod,
      podWith(
        { containers: [{ name: "a", resources: { limits: { cpu: 0.5, memory: "1024Mi" } } }] },
        { creationTimestamp: "2026-01-01T01:00:00.5+01:00" },
      ),
    );

    expect(object).toMatchObject({
      metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { containers: [{ resources: { limits: { cpu: "500m", memory: "1Gi" } } }] },
    });
  });

  test("keeps a key that names the prototype an ordinary key", () => {
    const { object } = decode("io.k8s.api.core.v1.ConfigMap", JSON.parse('{"metadata":{},"data":{"__proto__":"x"}}'));

    expect(JSON.stringify(object["data"])).toBe('{"__proto__":"x"}');
  });

  // Recorded from kube-apiserver v1.36.3.
  test.each([
    [
      { terminationGracePeriodSeconds: "x", containers: [{ name: 3 }] },
      "json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ],
    [{ containers: [{ name: 3 }] }, "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string"],
    [{ containers: {} }, "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container"],
    [[], "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"],
    [
      { terminationGracePeriodSeconds: 1.5 },
      "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ],
    [
      { containers: [{ ports: [{ containerPort: 99_999_999_999 }] }] },
      "json: cannot unmarshal number 99999999999 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
    ],
    [
      { hostNetwork: "true", containers: [{ resources: { limits: { cpu: "abc" } } }] },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  ])("refuses spec %j in the server's words", (spec, message) => {
    expect(() => decode(pod, podWith(spec))).toThrow(message);
  });

  test("names the version of a type in an error", () => {
    expect(() => decode("io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler", { spec: [] })).toThrow(
      "json: cannot unmarshal array into Go struct field HorizontalPodAutoscaler.spec of type v2.HorizontalPodAutoscalerSpec",
    );
  });

  test("refuses a MicroTime without six fractional digits", () => {
    const lease = { metadata: { name: "a" }, spec: { renewTime: "2026-01-01T00:00:00Z" } };

    expect(() => decode("io.k8s.api.coordination.v1.Lease", lease)).toThrow(
      'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    );
  });

  test("refuses text that is not base64", () => {
    expect(() => decode("io.k8s.api.core.v1.Secret", { metadata: { name: "a" }, data: { a: "&&" } })).toThrow(
      "illegal base64 data at input byte 0",
    );
  });
});
