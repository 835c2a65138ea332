/**
 * Histograms of times: four buckets for each doubling, from one microsecond to more than an hour. Beside the buckets,
 * sums give mean and deviation, and the shortest and longest time are exact.
 */

import { BUCKET_COUNT } from '../core/layout.generated.ts';

/** Durations in milliseconds. Percentiles are accurate to within 20 %, the other numbers to a microsecond. */
export interface Times {
  /** How many tasks were counted. */
  readonly count: number;
  readonly mean: number;
  /** The standard deviation. */
  readonly stddev: number;
  readonly min: number;
  readonly p0_001: number;
  readonly p0_01: number;
  readonly p0_1: number;
  readonly p1: number;
  readonly p2_5: number;
  readonly p10: number;
  readonly p25: number;
  /** The median. */
  readonly p50: number;
  readonly p75: number;
  /** Nine of ten took no longer. */
  readonly p90: number;
  readonly p97_5: number;
  /** 99 of 100 took no longer. */
  readonly p99: number;
  readonly p99_9: number;
  readonly p99_99: number;
  readonly p99_999: number;
  readonly max: number;
}

type Percentile = Exclude<keyof Times, 'count' | 'mean' | 'stddev' | 'min' | 'max'>;

const PERCENTILES: readonly Percentile[] = [
  'p0_001',
  'p0_01',
  'p0_1',
  'p1',
  'p2_5',
  'p10',
  'p25',
  'p50',
  'p75',
  'p90',
  'p97_5',
  'p99',
  'p99_9',
  'p99_99',
  'p99_999',
];

/** The bucket of a histogram for a time in microseconds: four for each doubling. */
export function bucketOf(microseconds: number): number {
  if (microseconds < 4) return microseconds < 0 ? 0 : microseconds | 0;
  const bounded = microseconds < 0xffffffff ? microseconds >>> 0 : 0xffffffff;
  const exponent = 31 - Math.clz32(bounded);
  return (exponent - 1) * 4 + ((bounded >>> (exponent - 2)) & 3);
}

/** The time, in microseconds, in the middle of a bucket. */
export function timeOfBucket(bucket: number): number {
  if (bucket < 4) return bucket + 0.5;
  const width = 2 ** (Math.floor(bucket / 4) - 1);
  return width * (4 + (bucket & 3)) + width / 2;
}

/** The times of one worker place, or of several together. */
export class TimesSum {
  readonly buckets: number[] = new Array<number>(BUCKET_COUNT).fill(0);
  /** In microseconds. */
  min: number = Number.POSITIVE_INFINITY;
  max = 0;
  /** In milliseconds, and their squares. */
  sum = 0;
  squares = 0;

  add(other: TimesSum): void {
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) this.buckets[bucket]! += other.buckets[bucket]!;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
    this.sum += other.sum;
    this.squares += other.squares;
  }

  times(): Times {
    const count = this.buckets.reduce((sum, n) => sum + n, 0);
    const mean = count === 0 ? 0 : this.sum / count;
    const stddev = count === 0 ? 0 : Math.sqrt(Math.max(this.squares / count - mean * mean, 0));
    const percentiles = {} as Record<Percentile, number>;
    let bucket = 0;
    let passed = this.buckets[0]!;
    for (const name of PERCENTILES) {
      const rank = (count * Number(name.slice(1).replace('_', '.'))) / 100;
      while (passed < rank && bucket < BUCKET_COUNT - 1) passed += this.buckets[++bucket]!;
      percentiles[name] = count === 0 ? 0 : Math.min(Math.max(timeOfBucket(bucket), this.min), this.max) / 1000;
    }
    return { count, mean, stddev, min: count === 0 ? 0 : this.min / 1000, ...percentiles, max: this.max / 1000 };
  }
}
