import { expect, test } from "vitest";
import { writeOutModels, type Models } from "./object-types.ts";

function models(files: Readonly<Record<string, string>>): Models {
  return {
    version: "1.2.3",
    read: (name) => {
      const text = files[name];
      if (text === undefined) throw new Error(`no ${name}`);
      return text;
    },
  };
}

const declarations = `import type * as k8s from "@kubernetes/client-node";
/** Stays. */
export type Wire<T> = T;
export interface Pod extends Wire<k8s.V1Pod> {
}
export interface PodSpec extends Wire<k8s.V1PodSpec> {
}
`;

const pod = `import { V1PodSpec } from '../models/V1PodSpec.js';
/**
* A pod.
*/
export declare class V1Pod {
    /**
    * What is \\"wanted\\".
    */
    'spec'?: V1PodSpec;
    static readonly discriminator: string | undefined;
    static getAttributeTypeMap(): {}[];
    constructor();
}
`;

const spec = `export declare class V1PodSpec {
    'containers': Array<V1Container>;
    'labels'?: {
        [key: string]: string;
    };
    'since'?: Date;
    'ports'?: Array<IntOrString>;
    '_continue'?: string;
    'x-kubernetes'?: any;
}
`;

const container = "export declare class V1Container {\n    'name': string;\n}\n";

test("models become interfaces of the API's JSON, with their comments, and refer to our names", () => {
  const text = writeOutModels(declarations, models({ V1Pod: pod, V1PodSpec: spec, V1Container: container }));

  expect(text).toMatch(/^\/\/ .*client-node 1\.2\.3, Copyright The Kubernetes Authors, Apache License 2\.0/);
  expect(text.slice(text.indexOf("/** Stays"))).toBe(`/** Stays. */
export type Wire<T> = T;
/** A pod. */
export interface Pod {
    /** What is "wanted". */
    spec?: PodSpec | undefined;
}
export interface PodSpec {
    containers: V1Container[];
    labels?: { [key: string]: string } | undefined;
    since?: string | undefined;
    ports?: (number | string)[] | undefined;
    continue?: string | undefined;
    "x-kubernetes"?: any | undefined;
}
export interface V1Container {
    name: string;
}
`);
});

test("a type that client-node's generator has not written so far is an error, not an `any`", () => {
  const odd = "export declare class V1PodSpec {\n    'tuple': [string, number];\n}\n";

  expect(() => writeOutModels(declarations, models({ V1Pod: pod, V1PodSpec: odd }))).toThrow(
    "client-node's V1PodSpec has a field of type [string, number], which this program cannot translate",
  );
});
