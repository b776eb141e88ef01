import { assert, integer, property, string } from 'fast-check';
import kafkajs, { type PartitionMetadata } from 'kafkajs';
import { expect, test } from 'vitest';
import { kafkaPartitionOf, murmur2 } from '../../../src/platform/event-log/kafka-partitioner.ts';
import { runs } from '../../engines/effort.ts';

test('murmur2 has the values of Kafka’s own tests', () => {
  // org.apache.kafka.common.utils.UtilsTest
  const published: [string, number][] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];
  for (const [text, hash] of published) expect(murmur2(Buffer.from(text))).toBe(hash);
});

test('a key maps to the same partition as in other Kafka clients', () => {
  const theirs = kafkajs.Partitioners.DefaultPartitioner();
  assert(
    property(string({ unit: 'binary' }), integer({ min: 1, max: 64 }), (key, partitions) => {
      const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
        partitionId,
        leader: 1,
      })) as PartitionMetadata[];
      const expected = theirs({ topic: 't', partitionMetadata, message: { key, value: '' } });
      return kafkaPartitionOf(key, partitions) === expected;
    }),
    { numRuns: runs(2_000) },
  );
});
