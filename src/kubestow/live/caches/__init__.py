"""What is known of the cluster, kept in step by watches."""
