import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const labels: Readonly<Record<string, Record<string, string>>> = {
  a: { tier: "web", env: "prod" },
  b: { tier: "web", env: "test" },
  c: { tier: "db" },
  d: {},
  e: { tier: "", "example.com/rank": "5" },
};

async function createSecrets(api: Api, core: string): Promise<(labelSelector: string) => Promise<string>> {
  for (const [name, each] of Object.entries(labels)) await api.create(`${core}/secrets`, { metadata: { name, labels: each } });
  return async (labelSelector) => names(await api.get(`${core}/secrets?labelSelector=${encodeURIComponent(labelSelector)}`));
}

function names({ status, body }: Answer): string {
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.items.map((item: { metadata: { name: string } }) => item.metadata.name).join("");
}

test("a label selector supports =, ==, !=, in, notin, exists, ! and numbers", async ({ api, core }) => {
  const select = await createSecrets(api, core);

  expect(await select("tier=web")).toBe("ab");
  expect(await select("tier==web")).toBe("ab");
  expect(await select("tier = web")).toBe("ab");
  expect(await select("tier!=web")).toBe("cde");
  expect(await select("tier in (web, db)")).toBe("abc");
  expect(await select("tier in (db,)")).toBe("ce");
  expect(await select("tier notin (web,db)")).toBe("de");
  expect(await select("tier")).toBe("abce");
  expect(await select("!tier")).toBe("d");
  expect(await select("! tier")).toBe("d");
  expect(await select("tier=")).toBe("e");
  expect(await select("tier=web,env=prod")).toBe("a");
  expect(await select("tier=web,env!=prod")).toBe("b");
  expect(await select("tier,!env")).toBe("ce");
  expect(await select("example.com/rank>4")).toBe("e");
  expect(await select("example.com/rank<4")).toBe("");
  expect(await select("")).toBe("abcde");
});

test("an invalid label selector is refused with 400", async ({ api, core }) => {
  const refused = (selector: string): Promise<Answer> => api.get(`${core}/secrets?labelSelector=${encodeURIComponent(selector)}`);

  expect(await refused("a=b=c")).toMatchInlineSnapshot(
    `400 Failure {message: "found '=', expected: ',' or 'end of string'", reason: "BadRequest"}`,
  );
  expect(await refused("a in")).toMatchInlineSnapshot(
    `400 Failure {message: "unable to parse requirement: found '' expected: '('", reason: "BadRequest"}`,
  );
  expect(await refused("a in b")).toMatchInlineSnapshot(
    `400 Failure {message: "unable to parse requirement: found 'b' expected: '('", reason: "BadRequest"}`,
  );
  expect(await refused("a in (b")).toMatchInlineSnapshot(
    `400 Failure {message: "unable to parse requirement: found '', expected: ',' or ')'", reason: "BadRequest"}`,
  );
  expect(await refused(",")).toMatchInlineSnapshot(
    `400 Failure {message: "found ',', expected: !, identifier, or 'end of string'", reason: "BadRequest"}`,
  );
  expect(await refused("a,")).toMatchInlineSnapshot(
    `400 Failure {message: "found '', expected: identifier after ','", reason: "BadRequest"}`,
  );
  expect(await refused("=b")).toMatchInlineSnapshot(
    `400 Failure {message: "found '=', expected: !, identifier, or 'end of string'", reason: "BadRequest"}`,
  );
  expect(await refused("a>b")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: values[0]: Invalid value: \\"b\\": for 'Gt', 'Lt' operators, the value must be an integer",
      reason: "BadRequest",
    }
  `);
  expect(await refused("a&b")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: <nil>: Invalid value: \\"a&b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      reason: "BadRequest",
    }
  `);
  expect(await refused("a=b c")).toMatchInlineSnapshot(
    `400 Failure {message: "found 'c', expected: ',' or 'end of string'", reason: "BadRequest"}`,
  );
  expect(await refused("-a=b")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: <nil>: Invalid value: \\"-a\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      reason: "BadRequest",
    }
  `);
  expect(await refused(`a=${"b".repeat(64)}`)).toMatchInlineSnapshot(`
    400 Failure {
      message: 'unable to parse requirement: values[0][a]: Invalid value: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb": must be no more than 63 bytes',
      reason: "BadRequest",
    }
  `);
  expect(await refused("!a=b")).toMatchInlineSnapshot(
    `400 Failure {message: "found '=', expected: ',' or 'end of string'", reason: "BadRequest"}`,
  );
});

test("a field selector supports =, == and != on name and namespace of every kind", async ({ api, core, namespace }) => {
  await createSecrets(api, core);
  const select = async (selector: string): Promise<string> =>
    names(await api.get(`${core}/secrets?fieldSelector=${encodeURIComponent(selector)}`));

  expect(await select("metadata.name=a")).toBe("a");
  expect(await select("metadata.name==a")).toBe("a");
  expect(await select("metadata.name!=a")).toBe("bcde");
  expect(await select("metadata.name!=a,metadata.name!=b")).toBe("cde");
  expect(await select(`metadata.namespace=${namespace}`)).toBe("abcde");
  expect(await select("metadata.namespace=other")).toBe("");
  expect(await select("")).toBe("abcde");
  expect(await select("metadata.name=a,")).toBe("a");
});

test("label and field selectors can be combined", async ({ api, core }) => {
  await createSecrets(api, core);

  expect(names(await api.get(`${core}/secrets?labelSelector=tier=web&fieldSelector=metadata.name!=a`))).toBe("b");
});

test("pods are selected by node, phase, restart policy, scheduler, service account, host network and address", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("a", { nodeName: "n1", restartPolicy: "Never" }));
  await api.create(`${core}/pods`, podNamed("b", { schedulerName: "other" }));
  await api.create(`${core}/pods`, podNamed("c", { nodeName: "n2", hostNetwork: true }));
  await api.patch("merge", `${core}/pods/a/status`, {
    status: { phase: "Running", podIP: "192.168.7.1", podIPs: [{ ip: "192.168.7.1" }] },
  });
  const select = async (selector: string): Promise<string> =>
    names(await api.get(`${core}/pods?fieldSelector=${encodeURIComponent(selector)}`));

  expect(await select("spec.nodeName=n1")).toBe("a");
  expect(await select("spec.nodeName=")).toBe("b");
  expect(await select("spec.nodeName!=")).toBe("ac");
  expect(await select("status.phase=Running")).toBe("a");
  expect(await select("status.phase!=Running")).toBe("bc");
  expect(await select("spec.restartPolicy=Never")).toBe("a");
  expect(await select("spec.schedulerName=other")).toBe("b");
  expect(await select("spec.serviceAccountName=default")).toBe("abc");
  expect(await select("spec.hostNetwork=true")).toBe("c");
  expect(await select("spec.hostNetwork=false")).toBe("ab");
  expect(await select("status.podIP=192.168.7.1")).toBe("a");
  expect(await select("status.nominatedNodeName=")).toBe("abc");
  expect(await select("spec.nodeName=n1,status.phase=Pending")).toBe("");
});

test("events, secrets, nodes and namespaces have additional field selectors", async ({ api, core, namespace }) => {
  await api.create(`${core}/secrets`, { metadata: { name: "a" }, type: "example.com/odd" });
  await api.create(`${core}/secrets`, { metadata: { name: "b" } });
  await api.create(`${core}/events`, {
    metadata: { name: "a" },
    involvedObject: { kind: "Pod", name: "web", namespace, uid: "u1", apiVersion: "v1" },
    reason: "Tested",
    type: "Normal",
    source: { component: "test" },
    message: "m",
  });
  const select = async (path: string): Promise<string> => names(await api.get(path));

  expect(await select(`${core}/secrets?fieldSelector=type=example.com/odd`)).toBe("a");
  expect(await select(`${core}/secrets?fieldSelector=type!=example.com/odd`)).toBe("b");
  for (const selector of [
    "involvedObject.name=web",
    "involvedObject.kind=Pod",
    "involvedObject.uid=u1",
    "reason=Tested",
    "type=Normal",
    "source=test",
    `involvedObject.namespace=${namespace}`,
    "involvedObject.apiVersion=v1",
    "reportingComponent=",
    "involvedObject.fieldPath=",
    "involvedObject.resourceVersion=",
  ])
    expect(await select(`${core}/events?fieldSelector=${selector}`), selector).toBe("a");
  expect(await select(`${core}/events?fieldSelector=reason=Other`)).toBe("");
  expect(await select(`/api/v1/namespaces?fieldSelector=status.phase=Active,metadata.name=${namespace}`)).toBe(namespace);
  expect(await select(`/api/v1/namespaces?fieldSelector=status.phase=Terminating,metadata.name=${namespace}`)).toBe("");
  expect(await select("/api/v1/nodes?fieldSelector=spec.unschedulable=true,metadata.name=none")).toBe("");
});

test("an unsupported field is refused with 400", async ({ api, core, apps }) => {
  expect(await api.get(`${core}/pods?fieldSelector=spec.priority=1`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: spec.priority", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/configmaps?fieldSelector=data.a=1`)).toMatchInlineSnapshot(
    `400 Failure {message: '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"', reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/secrets?fieldSelector=metadata.uid=1`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: metadata.uid", reason: "BadRequest"}`,
  );
  expect(await api.get(`${apps}/deployments?fieldSelector=spec.replicas=1`)).toMatchInlineSnapshot(
    `400 Failure {message: '"spec.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"', reason: "BadRequest"}`,
  );
  expect(await api.get("/api/v1/nodes?fieldSelector=spec.podCIDR=1")).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: spec.podCIDR", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/events?fieldSelector=message=1`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: message", reason: "BadRequest"}`,
  );
  expect(await api.get("/api/v1/nodes?fieldSelector=metadata.namespace=a")).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: metadata.namespace", reason: "BadRequest"}`,
  );
  expect(await api.delete(`${core}/pods?fieldSelector=spec.priority=1`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: spec.priority", reason: "BadRequest"}`,
  );
});

test("an invalid field selector is refused with 400", async ({ api, core }) => {
  expect(await api.get(`${core}/pods?fieldSelector=nonsense`)).toMatchInlineSnapshot(
    `400 Failure {message: "invalid selector: 'nonsense'; can't understand 'nonsense'", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/pods?fieldSelector=metadata.name=a=b`)).toMatchInlineSnapshot(
    `400 Failure {message: "invalid field selector: unescaped character in value: 61", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/pods?fieldSelector=${encodeURIComponent("metadata.name=\\x")}`)).toMatchInlineSnapshot(
    `400 Failure {message: "invalid field selector: invalid escape sequence: \\\\x", reason: "BadRequest"}`,
  );
});

test("each place where a selector cannot be parsed has its message", async ({ api, core }) => {
  const problem = async (query: string, selector: string): Promise<string> => {
    const { status, body } = await api.get(`${core}/secrets?${query}=${encodeURIComponent(selector)}`);
    return `${selector} -> ${String(status)} ${body.message}`;
  };
  const problems: string[] = [];
  for (const selector of ["a in (", "a in (!", "a in (b c", "a in (b,", "a in (,(", "a>9223372036854775808", "a\u00a0=b"])
    problems.push(await problem("labelSelector", selector));
  for (const selector of ["z,foo=b=c", "foo=bar,metadata.name=a=b", "metadata.name=a\\", "z,a", "=", "=a"])
    problems.push(await problem("fieldSelector", selector));

  expect(problems).toMatchInlineSnapshot(`
    [
      "a in ( -> 400 unable to parse requirement: found '', expected: ',', ')' or identifier",
      "a in (! -> 400 unable to parse requirement: found '!', expected: ',', ')' or identifier",
      "a in (b c -> 400 unable to parse requirement: found 'c', expected: ',' or ')'",
      "a in (b, -> 400 unable to parse requirement: found '', expected: ',', or identifier",
      "a in (,( -> 400 unable to parse requirement: found '(', expected: ',', or identifier",
      "a>9223372036854775808 -> 400 unable to parse requirement: values[0]: Invalid value: \\"9223372036854775808\\": for 'Gt', 'Lt' operators, the value must be an integer",
      "a =b -> 400 unable to parse requirement: <nil>: Invalid value: \\"a\\\\u00a0\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "z,foo=b=c -> 400 invalid field selector: unescaped character in value: 61",
      "foo=bar,metadata.name=a=b -> 400 invalid field selector: unescaped character in value: 61",
      "metadata.name=a\\\\ -> 400 invalid field selector: invalid escape sequence: \\\\",
      "z,a -> 400 invalid selector: 'z,a'; can't understand 'a'",
      "= -> 200 undefined",
      "=a -> 400 field label not supported: ",
    ]
  `);
});

test("values of a label selector are checked in their order, and all problems are named", async ({ api, core }) => {
  const refused = (selector: string): Promise<Answer> => api.get(`${core}/secrets?labelSelector=${encodeURIComponent(selector)}`);

  expect(await refused("a in (b,-)")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: values[0][a]: Invalid value: \\"-\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      reason: "BadRequest",
    }
  `);
  expect(await refused("a in (-,b,_)")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: [values[0][a]: Invalid value: \\"-\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'), values[1][a]: Invalid value: \\"_\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
      reason: "BadRequest",
    }
  `);
  expect(await refused("a>-")).toMatchInlineSnapshot(`
    400 Failure {
      message: "unable to parse requirement: [values[0]: Invalid value: \\"-\\": for 'Gt', 'Lt' operators, the value must be an integer, values[0][a]: Invalid value: \\"-\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
      reason: "BadRequest",
    }
  `);
});

test("numbers of a query are parsed first, then selectors, then options are checked", async ({ api, core }) => {
  expect(await api.get(`${core}/secrets?fieldSelector=a&limit=x`)).toMatchInlineSnapshot(
    `400 Failure {message: 'strconv.ParseInt: parsing "x": invalid syntax', reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/secrets?labelSelector=,&resourceVersionMatch=x`)).toMatchInlineSnapshot(
    `400 Failure {message: "found ',', expected: !, identifier, or 'end of string'", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/secrets?fieldSelector=a%3Db&resourceVersionMatch=x`)).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            reason: "FieldValueForbidden",
          },
          {
            field: "resourceVersionMatch",
            message: 'Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""]',
      reason: "Invalid",
    }
  `);
  expect(await api.delete(`${core}/secrets?fieldSelector=a%3Db&dryRun=x`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: a", reason: "BadRequest"}`,
  );
});
