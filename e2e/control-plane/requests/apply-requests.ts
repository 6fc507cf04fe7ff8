import { get, patch, post, put, type ComparedRequest, type RequestGroup } from "./request.ts";

const maps = "/api/v1/namespaces/{ns}/configmaps";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";

const map = (data: Readonly<Record<string, string>>, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", ...metadata },
  data,
});

const apply = (query: string, body: unknown): ComparedRequest => patch("apply", `${maps}/a?${query}`, body);

const deployment = (containers: readonly object[], replicas?: number): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers } },
  },
});

const web = (path: string, body: unknown): ComparedRequest => patch("apply", `${deployments}/web${path}`, body);

/** Server-side apply. */
export const applyRequests: readonly RequestGroup[] = [
  {
    name: "apply",
    steps: [
      apply("fieldManager=one", map({ k: "v" })),
      apply("fieldManager=one", map({ k: "w", l: "x" })),
      apply("fieldManager=two", map({ k: "other" })),
      apply("fieldManager=two&force=true", map({ k: "other" })),
      apply("fieldManager=two", map({ k: "other", m: "y" })),
      apply("fieldManager=one", map({ l: "x" })),
      apply("fieldManager=one", map({})),
      apply("", map({ k: "v" })),
      apply("fieldManager=one&force=x", map({ k: "v" })),
      apply(`fieldManager=${"x".repeat(129)}`, map({ k: "v" })),
      apply("fieldManager=one&dryRun=All", map({ dry: "run" })),
      apply("fieldManager=one", { kind: "ConfigMap", metadata: { name: "a" } }),
      apply("fieldManager=one", { apiVersion: "v1", metadata: { name: "a" } }),
      apply("fieldManager=one", { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }),
      apply("fieldManager=one", map({}, { name: "b" })),
      apply("fieldManager=one", map({}, { managedFields: [{ manager: "x" }] })),
      apply("fieldManager=one", map({}, { resourceVersion: "1" })),
      apply("fieldManager=one", map({}, { uid: "other" })),
      apply("fieldManager=one", { ...map({}), nosuch: 1 }),
      apply("fieldManager=one&fieldValidation=Strict", { ...map({}), nosuch: 1 }),
      apply("fieldManager=one&fieldValidation=Warn", { ...map({}), nosuch: 1 }),
      apply("fieldManager=one", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  yaml: here\n"),
      apply("fieldManager=one", "{"),
      apply("fieldManager=one", "[]"),
      apply("fieldManager=one", map({ k: 5 } as unknown as Record<string, string>)),
      get(`${maps}/a`),
      put(`${maps}/a?fieldManager=three`, map({ put: "here" })),
      patch("merge", `${maps}/a?fieldManager=four`, { metadata: { managedFields: [] } }),
      patch("merge", `${maps}/a?fieldManager=four`, { metadata: { managedFields: null } }),
      patch("merge", `${maps}/a?fieldManager=four`, { metadata: { managedFields: [{}] } }),
      patch("apply", `${maps}/new?fieldManager=one`, map({}, { name: "new" })),
    ],
  },
  {
    name: "apply of lists",
    steps: [
      web("?fieldManager=one", deployment([{ name: "a", image: "a:1", env: [{ name: "K", value: "v" }] }], 2)),
      web("?fieldManager=two", deployment([{ name: "b", image: "b:1" }])),
      web("?fieldManager=two", deployment([{ name: "a", image: "a:2" }])),
      web("?fieldManager=two&force=true", deployment([{ name: "a", image: "a:2" }])),
      web("?fieldManager=one", deployment([{ name: "a", env: [{ name: "L", value: "w" }] }])),
      web("?fieldManager=one", deployment([{ name: "a" }, { name: "a" }])),
      web("?fieldManager=one", deployment([{ image: "x" }])),
      web("/status?fieldManager=status", { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, status: { replicas: 2 } }),
      web("/scale?fieldManager=scaler", { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" }, spec: { replicas: 5 } }),
      post(deployments, { ...deployment([{ name: "c", image: "c" }]), metadata: { name: "posted" } }),
      patch("apply", `${deployments}/posted?fieldManager=one`, {
        ...deployment([{ name: "c", image: "d" }]),
        metadata: { name: "posted" },
      }),
      get(`${deployments}/web`),
      get(`${deployments}/web/scale`),
    ],
  },
];
