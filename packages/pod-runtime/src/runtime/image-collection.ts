/** An image as {@link ImageCollection} lists it. */
export interface CollectedImage {
  /** What it is removed by. */
  readonly id: string;
  /** All its names; empty for one that has lost them. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Whether a container uses it, running or not, ours or not. */
  readonly isInUse: boolean;
}

/** Room on the file system that holds the images, in bytes. */
export interface ImageFileSystem {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** A runtime whose images can be collected. Optional: without it images stay. */
export interface ImageCollection {
  /** All images it holds. Never a part: it fails as a whole. */
  listImages(signal: AbortSignal): Promise<readonly CollectedImage[]>;
  /** Removes an image with all its names. Idempotent. @throws ConflictError while it is in use */
  removeImage(id: string, signal: AbortSignal): Promise<void>;
  /** How full the disk is. */
  imageFileSystem(signal: AbortSignal): Promise<ImageFileSystem>;
}
