/**
 * A provider that runs pods as jobs of HashiCorp Nomad.
 *
 * @packageDocumentation
 */
export {
  nomadConfigSchema,
  type NomadConfig,
  type NomadConstraintConfig,
  type NomadDriver,
  type NomadTlsConfig,
  type NomadVolumeConfig,
} from "./config.ts";
export { provider } from "./provider.ts";
