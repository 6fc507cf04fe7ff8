import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withClouds } from "./clouds-file.ts";
import { toCredentials } from "./credentials.ts";

const base = { authUrl: "https://cloud.example.com:5000/", username: "ada", password: "pw", projectName: "lab" };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "vk-clouds-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a password signs in a user of a project, both of the default domain unless named", () => {
  expect(toCredentials({ ...base, projectDomainId: "d1" })).toEqual({
    authUrl: "https://cloud.example.com:5000/v3",
    method: "password",
    auth: {
      identity: { methods: ["password"], password: { user: { name: "ada", domain: { id: "default" }, password: "pw" } } },
      scope: { project: { name: "lab", domain: { id: "d1" } } },
    },
  });
});

test("an application credential has its project, and comes before all else", () => {
  expect(toCredentials({ ...base, applicationCredentialId: "a1", applicationCredentialSecret: "s" }).auth).toEqual({
    identity: { methods: ["application_credential"], application_credential: { id: "a1", secret: "s" } },
  });
  expect(
    toCredentials({ ...base, userDomainName: "Users", applicationCredentialName: "vk", applicationCredentialSecret: "s" }).auth,
  ).toEqual({
    identity: {
      methods: ["application_credential"],
      application_credential: { name: "vk", secret: "s", user: { name: "ada", domain: { name: "Users" } } },
    },
  });
});

test("a token is scoped to the project", () => {
  expect(toCredentials({ authUrl: "http://k/v3", token: "t", projectId: "p1" })).toMatchObject({
    authUrl: "http://k/v3",
    method: "token",
    auth: { identity: { methods: ["token"], token: { id: "t" } }, scope: { project: { id: "p1" } } },
  });
});

test.for([
  [{ username: "ada" }, /set it \(or OS_AUTH_URL\), or name a cloud/],
  [{ authUrl: "http://k", username: "ada", projectName: "p" }, /OS_PASSWORD/],
  [{ authUrl: "http://k", password: "secret", projectName: "p" }, /OS_USERNAME/],
  [{ authUrl: "http://k", username: "ada", password: "secret" }, /OS_PROJECT_NAME/],
  [{ authUrl: "http://k", applicationCredentialId: "a" }, /OS_APPLICATION_CREDENTIAL_SECRET/],
] as const)("what is missing of %j is named, without what is there", ([config, message]) => {
  expect(() => toCredentials(config)).toThrow(message);
  expect(() => toCredentials(config)).not.toThrow(/secret/);
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const clouds = `
clouds:
  lab:
    auth: { auth_url: "https://lab:5000", username: ada, project_name: p, user_domain_name: Default }
    region_name: R1
    verify: false
  other: { auth: { auth_url: "https://other:5000" } }
`;

test("a cloud of clouds.yaml gives the credentials, with secure.yaml over it; what the configuration says of region wins", () => {
  const path = write("clouds.yaml", clouds);
  write("secure.yaml", "clouds: { lab: { auth: { password: pw } } }");

  expect(withClouds({ cloud: "lab", cloudsFile: path, region: "R2", username: "from-elsewhere" })).toMatchObject({
    authUrl: "https://lab:5000",
    username: "ada",
    password: "pw",
    region: "R2",
    insecure: true,
  });
});

test("without a name the only cloud of a file is meant, and of several none", () => {
  const path = write("clouds.yaml", "clouds: { only: { auth: { auth_url: 'https://only' } } }");
  expect(withClouds({}, [join(folder, "none.yaml"), path]).authUrl).toBe("https://only");
  expect(() => withClouds({}, [write("two.yaml", clouds)])).toThrow(/it has several, so set cloud or OS_CLOUD.*"lab", "other"/);
});

test("credentials of the configuration need no file", () => {
  expect(withClouds(base, [write("clouds.yaml", clouds)])).toBe(base);
});

test("a file that cannot be read is named, and not quoted", () => {
  expect(() => withClouds({ cloud: "lab", cloudsFile: join(folder, "gone.yaml") })).toThrow(/gone\.yaml/);
  const broken = write("broken.yaml", "clouds: { password: [hunter2");
  expect(() => withClouds({ cloud: "lab", cloudsFile: broken })).toThrow(/broken\.yaml: it is no YAML$/);
});
