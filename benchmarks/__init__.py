"""The benchmark suite: CAMS compared with common alternatives on DynamoDB."""
